//! The one place of `unsafe`: what this process has without any value in the program that owns it. Descriptors and treatment
//! of signals that it inherited, and the pages of its own program.
#![expect(unsafe_code, reason = "what has no owner in the program, nothing safe can be called on")]

use std::ffi::c_int;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::fd::RawFd;

use rustix::mm::{Advice, madvise};

/// Closes everything above standard error. Whoever started the engine may have left descriptors open in it, a lock file for
/// example, and neither a workload nor a shim, which outlives the engine, may hold them.
///
/// To be called first of all, while there is one thread and nothing was opened.
pub(super) fn close_inherited() -> io::Result<()> {
    let listed = fs::read_dir("/proc/self/fd")?;
    let numbers =
        listed.map(|entry| Ok(entry?.file_name().to_str().and_then(|one| one.parse().ok())));
    let numbers: Vec<Option<RawFd>> = numbers.collect::<io::Result<_>>()?;
    // The listing's own is among them, and closed by now.
    let is_open = |number: &RawFd| fs::symlink_metadata(format!("/proc/self/fd/{number}")).is_ok();
    for number in numbers.into_iter().flatten().filter(|number| *number > 2).filter(is_open) {
        // SAFETY: it is open, and this process has opened nothing yet that is, so nobody in it owns this descriptor or
        // will use it.
        unsafe { rustix::io::close(number) };
    }
    Ok(())
}

/// Lets this process, and so its workload, treat every signal as a new process does. Whoever started the engine may have had
/// it ignore some, as `nohup` and a shell's `&` do, and a workload would never heed those. Only a broken pipe goes on being
/// an error of the write here; the standard library takes care of the workload's.
pub(super) fn heed_signals() {
    for number in (1..=SIGNALS_MAX).filter(|number| *number != SIGPIPE) {
        // SAFETY: the default needs no handler that would have to stay. For numbers that are none, or cannot be changed,
        // the call fails and does nothing.
        unsafe { signal(number, SIG_DFL) };
    }
}

/// As every Linux that we run on has them.
const SIGNALS_MAX: c_int = 64;
const SIGPIPE: c_int = 13;
const SIG_DFL: usize = 0;

unsafe extern "C" {
    /// The C library's.
    fn signal(number: c_int, action: usize) -> usize;
}

/// Gives back the pages of the program and its libraries that are mapped by now, most of which only starting needed. They
/// stay in the kernel's cache for all processes, and what is looked at again is mapped again, as a rule without a disk.
pub(super) fn forget_program() {
    let Ok(maps) = File::open("/proc/self/smaps") else { return };
    for (begin, length) in
        unchanged(BufReader::with_capacity(1024, maps).lines().map_while(Result::ok))
    {
        let begin = std::ptr::with_exposed_provenance_mut(begin);
        // SAFETY: this is a private mapping of a file that nobody can write to, and no page of it was ever changed, so all
        // of them are the file's: dropping them changes no byte that anybody reads. It stays mapped where it is.
        let _ = unsafe { madvise(begin, length, Advice::LinuxDontNeed) };
    }
}

/// Begin and length of each private mapping of a file that is not writable and of which no page is this process's own, in
/// memory or swapped out. What the linker changed and then protected has such pages.
fn unchanged(maps: impl Iterator<Item: AsRef<str>>) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut last = None;
    for line in maps {
        let line = line.as_ref();
        let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
        match first {
            "Anonymous:" | "Swap:" if rest.trim() != "0 kB" => last = None,
            // The last line of each.
            "VmFlags:" => found.extend(last.take()),
            _ if !first.ends_with(':') => last = of_file(line),
            _ => {}
        }
    }
    found
}

fn of_file(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights, path) = (fields.next()?, fields.next()?, fields.nth(3)?);
    if !matches!(rights, "r--p" | "r-xp") || !path.starts_with('/') {
        return None;
    }
    let (begin, end) = range.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    Some((address(begin)?, address(end)?.checked_sub(address(begin)?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(line: &str, anonymous: u32, swap: u32) -> String {
        format!(
            "{line}\nSize: 8 kB\nRss: 4 kB\nAnonymous:   {anonymous} kB\nSwap:    {swap} kB\nVmFlags: rd mr\n"
        )
    }

    #[test]
    fn only_what_is_the_files_is_forgotten() {
        let text = "7f10-7f30 r-xp 00028000 fe:00 1234    /usr/lib/libc.so.6";
        let data = "8f10-8f20 r--p 00000000 fe:00 1234 /opt/a b (deleted)";
        let both = vec![(0x7f10, 0x20), (0x8f10, 0x10)];
        assert_eq!(unchanged((map(text, 0, 0) + &map(data, 0, 0)).lines()), both);
        for other in [
            &map(data, 4, 0),
            &map(data, 0, 4),
            &map(text, 4, 0),
            &map("7f10-7f30 rw-p 00028000 fe:00 1234 /usr/lib/libc.so.6", 0, 0),
            &map("7f10-7f30 rwxp 00028000 fe:00 1234 /usr/lib/libc.so.6", 0, 0),
            &map("7f10-7f30 r-xs 00028000 fe:00 1234 /usr/lib/libc.so.6", 0, 0),
            &map("7f10-7f30 r-xp 00000000 00:00 0 [vdso]", 0, 0),
            &map("7f10-7f30 r--p 00000000 00:00 0", 0, 0),
            &map("7f30-7f10 r-xp 00000000 fe:00 1 /x", 0, 0),
            &map("7f10 r-xp 00000000 fe:00 1 /x", 0, 0),
            text,
            "",
        ] {
            assert_eq!(unchanged(other.lines()), [], "{other}");
            assert_eq!(unchanged((map(text, 0, 0) + other).lines()), [(0x7f10, 0x20)], "{other}");
        }
    }

    #[test]
    fn whoever_forgets_its_program_runs_on() {
        forget_program();
        let maps = fs::read_to_string("/proc/self/smaps").unwrap();
        assert!(unchanged(maps.lines()).len() > 1, "{maps}");
    }
}
