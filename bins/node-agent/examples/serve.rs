//! A program to be routed to in tests: answers every HTTP request on a port of 127.0.0.1 with one word.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let (port, word) = arguments.next().zip(arguments.next()).ok_or("use: serve PORT WORD")?;
    let listener = TcpListener::bind(("127.0.0.1", port.parse::<u16>()?))?;
    for stream in listener.incoming() {
        let (stream, word) = (stream?, word.clone());
        thread::spawn(move || answer(&stream, &word));
    }
    Ok(())
}

fn answer(mut stream: &TcpStream, word: &str) -> io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    while !lines.next().transpose()?.unwrap_or_default().is_empty() {}
    let length = word.len();
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{word}")
}
