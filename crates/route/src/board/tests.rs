//! Cases of the board.

use super::*;

const AT: &str = "127.0.0.1:80";
const A: &str = "127.0.0.1:8001";
const B: &str = "127.0.0.1:8002";

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

fn id(number: u64) -> ConnectionId {
    ConnectionId(number)
}

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn forward(to: &[&str]) -> Option<To> {
    Some(To::Forward { to: to.iter().map(|backend| at(backend)).collect() })
}

fn hold(limit: u32, time: u64) -> Option<To> {
    Some(To::Hold { limit, time: ms(time), then: because() })
}

fn because() -> Refusal {
    Refusal::Http { why: "later".to_owned() }
}

fn to(backend: &str) -> Course {
    Course::Forward(at(backend))
}

fn board(to: Option<To>) -> Board {
    let mut board = Board::default();
    assert_eq!(board.turn(at(AT), to, ms(0)), []);
    board
}

#[test]
fn new_connections_take_turns() {
    let mut board = board(forward(&[A, B]));
    let courses: Vec<Course> = (0..4).map(|one| board.arrived(at(AT), id(one), ms(0))).collect();
    assert_eq!(courses, [to(A), to(B), to(A), to(B)]);
    assert_eq!(board.open(at(A)), 2);
    board.ended(at(AT), id(0), at(A));
    assert_eq!(board.open(at(A)), 1);
}

#[test]
fn nothing_new_goes_to_a_backend_that_is_not_in_the_table() {
    let mut board = board(forward(&[A]));
    assert_eq!(board.arrived(at(AT), id(0), ms(0)), to(A));
    board.turn(at(AT), forward(&[B]), ms(0));
    assert_eq!(board.arrived(at(AT), id(1), ms(0)), to(B));
    // Also not what was on its way there.
    assert_eq!(board.unreached(at(AT), id(0), at(A), ms(1)), to(B));
    assert_eq!((board.open(at(A)), board.open(at(B))), (0, 2));
    assert!(!board.counts().0[&at(AT)].backends.contains_key(&at(A)));
}

#[test]
fn what_waits_goes_on_in_the_order_in_which_it_came() {
    let mut board = board(hold(3, 1_000));
    for one in [2, 0, 1] {
        assert_eq!(board.arrived(at(AT), id(one), ms(0)), Course::Hold);
    }
    assert_eq!(board.arrived(at(AT), id(3), ms(0)), Course::Refuse(because()));
    assert_eq!(board.turn(at(AT), hold(5, 1_000), ms(10)), []);
    let courses = board.turn(at(AT), forward(&[A, B]), ms(20));
    assert_eq!(courses, [(id(0), to(A)), (id(1), to(B)), (id(2), to(A))]);
    let counts = &board.counts().0[&at(AT)];
    assert_eq!((counts.queued, counts.total, counts.refused), (0, 4, 1));
}

#[test]
fn who_has_waited_too_long_is_refused_and_nobody_else() {
    let mut board = board(hold(10, 100));
    board.arrived(at(AT), id(0), ms(0));
    board.arrived(at(AT), id(1), ms(50));
    assert_eq!(board.tick(ms(99)), []);
    assert_eq!(board.tick(ms(100)), [(id(0), Course::Refuse(because()))]);
    // A new time holds from when they came.
    board.turn(at(AT), hold(10, 60), ms(100));
    assert_eq!(board.tick(ms(110)), [(id(1), Course::Refuse(because()))]);
}

#[test]
fn what_waits_at_an_address_that_refuses_or_closes_is_refused() {
    for (after, expected) in [
        (Some(To::Refuse(Refusal::Close)), Refusal::Close),
        (Some(To::Refuse(because())), because()),
        // Closed, it is refused as was promised.
        (None, because()),
    ] {
        let mut board = board(hold(10, 100));
        board.arrived(at(AT), id(0), ms(0));
        assert_eq!(board.turn(at(AT), after, ms(1)), [(id(0), Course::Refuse(expected))]);
    }
}

#[test]
fn a_connection_that_reaches_nobody_tries_all_waits_and_tries_again_until_its_time_is_over() {
    let mut board = board(forward(&[A, B]));
    assert_eq!(board.arrived(at(AT), id(0), ms(0)), to(A));
    assert_eq!(board.unreached(at(AT), id(0), at(A), ms(1)), to(B));
    assert_eq!(board.unreached(at(AT), id(0), at(B), ms(2)), Course::Hold);
    assert_eq!(board.tick(ms(50)), []);
    let mut now = 2;
    while now + 100 < 5_001 {
        now += 100;
        let [(_, Course::Forward(first))] = board.tick(ms(now))[..] else { panic!("at {now}") };
        let Course::Forward(second) = board.unreached(at(AT), id(0), first, ms(now)) else {
            panic!("at {now}")
        };
        assert_ne!(first, second);
        assert_eq!(board.unreached(at(AT), id(0), second, ms(now)), Course::Hold);
    }
    // Five seconds after it was first refused, and not after the last time.
    assert_eq!(board.tick(ms(5_001)), [(id(0), Course::Refuse(Refusal::Close))]);
    assert_eq!(board.counts().0[&at(AT)].refused, 1);
}

#[test]
fn no_more_wait_for_a_backend_than_the_limit() {
    let mut board = board(forward(&[A]));
    for one in 0..=UNREACHED_LIMIT as u64 {
        board.arrived(at(AT), id(one), ms(0));
        let expected = if one < UNREACHED_LIMIT as u64 {
            Course::Hold
        } else {
            Course::Refuse(Refusal::Close)
        };
        assert_eq!(board.unreached(at(AT), id(one), at(A), ms(0)), expected);
    }
}

#[test]
fn a_table_that_changes_is_tried_at_once_by_what_reached_nobody() {
    let mut board = board(forward(&[A]));
    board.arrived(at(AT), id(0), ms(0));
    board.unreached(at(AT), id(0), at(A), ms(0));
    assert_eq!(board.turn(at(AT), forward(&[B]), ms(1)), [(id(0), to(B))]);
    board.unreached(at(AT), id(0), at(B), ms(2));
    // Held, its time begins anew.
    assert_eq!(board.turn(at(AT), hold(1, 100), ms(3)), []);
    assert_eq!(board.tick(ms(102)), []);
    assert_eq!(board.tick(ms(103)), [(id(0), Course::Refuse(because()))]);
}

#[test]
fn it_is_told_where_connections_wait_at_once_and_then_every_second() {
    let mut board = board(hold(10, 10_000));
    assert!(!board.tells(at(AT), ms(0)));
    board.arrived(at(AT), id(0), ms(0));
    assert!(board.tells(at(AT), ms(0)));
    board.arrived(at(AT), id(1), ms(10));
    assert!(!board.tells(at(AT), ms(10)));
    assert_eq!(board.tell(ms(999)), []);
    assert_eq!(board.tell(ms(1_000)), [at(AT)]);
    board.untold();
    assert_eq!(board.tell(ms(1_001)), [at(AT)]);
    board.turn(at(AT), forward(&[A]), ms(1_002));
    assert_eq!(board.tell(ms(5_000)), []);
}

#[test]
fn a_board_is_handed_over_whole() {
    let mut board = board(forward(&[A, B]));
    board.arrived(at(AT), id(0), ms(0));
    board.arrived(at(AT), id(1), ms(0));
    board.turn(at("[::1]:90"), hold(5, 1_000), ms(0));
    board.arrived(at("[::1]:90"), id(2), ms(7));
    board.taken_back(at(AT), id(1), at(B), ms(9));
    let json = serde_json::to_vec(&board).unwrap();
    let mut heir: Board = serde_json::from_slice(&json).unwrap();
    assert_eq!(heir, board);
    let waiting: Vec<_> = heir.waiting().collect();
    assert_eq!(waiting, [(at(AT), id(1)), (at("[::1]:90"), id(2))]);
    heir.none_is_open();
    heir.is_open(at(AT), at(A));
    assert_eq!(heir.open(at(A)), 1);
    // What was on its way goes on at once.
    assert_eq!(heir.tick(ms(200)), [(id(1), to(A))]);
    heir.lost(at("[::1]:90"), id(2));
    assert_eq!(heir.turn(at("[::1]:90"), None, ms(300)), []);
}
