//! Faults by script: each does what it says to exactly the deliveries it names, and the same every time.

use std::error::Error;
use std::time::Duration;

use bus::{
    Bus, Bytes, Fault, InProcessBus, Leg, Request, RequestError, Rule, Subject, Subscription,
};
use tokio::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const ALWAYS: std::ops::Range<u64> = 0..u64::MAX;
const SECOND: Duration = Duration::from_secs(1);

/// Six numbered messages under one rule, and the order in which they are heard.
#[tokio::test]
async fn messages_are_dropped_doubled_held_and_reversed_as_scripted() -> Outcome {
    let cases = [
        (0..0, Fault::Drop, "012345"),
        (0..1, Fault::Drop, "12345"),
        (2..4, Fault::Drop, "0145"),
        (3..u64::MAX, Fault::Drop, "012"),
        (1..2, Fault::Duplicate, "0112345"),
        (ALWAYS, Fault::Duplicate, "001122334455"),
        (0..1, Fault::DelayBehind(0), "012345"),
        (0..1, Fault::DelayBehind(1), "102345"),
        (1..3, Fault::DelayBehind(2), "031425"),
        (ALWAYS, Fault::DelayBehind(2), "0123"),
        (4..5, Fault::DelayBehind(9), "01235"),
        (0..3, Fault::Reverse(3), "210345"),
        (ALWAYS, Fault::Reverse(2), "103254"),
        (2..u64::MAX, Fault::Reverse(3), "01432"),
        (ALWAYS, Fault::Reverse(0), "012345"),
    ];
    for (which, fault, heard) in cases {
        for _ in 0..3 {
            assert_eq!(play(which.clone(), fault.clone()).await?, heard, "{which:?} {fault:?}");
        }
    }
    Ok(())
}

async fn play(which: std::ops::Range<u64>, fault: Fault) -> Outcome<String> {
    let bus = InProcessBus::new();
    let mut subscription = bus.subscribe(&"n.*".parse()?).await?;
    bus.set_script(vec![Rule { leg: Leg::Message, pattern: "n.*".parse()?, which, fault }]);
    for number in 0..6 {
        say(&bus, "n.x", &number.to_string()).await?;
    }
    waiting(&mut subscription)
}

#[tokio::test]
async fn a_rule_hits_its_subjects_and_its_leg_only() -> Outcome {
    let bus = InProcessBus::new();
    let mut subscription = bus.subscribe(&">".parse()?).await?;
    let rule = |leg, pattern: &str| -> Outcome<Rule> {
        Ok(Rule { leg, pattern: pattern.parse()?, which: ALWAYS, fault: Fault::Drop })
    };
    bus.set_script(vec![rule(Leg::Message, "health.box-1")?, rule(Leg::Request, "health.box-2")?]);
    for (on, text) in [("health.box-1", "a"), ("health.box-2", "b"), ("hello.box-1", "c")] {
        say(&bus, on, text).await?;
    }
    assert_eq!(waiting(&mut subscription)?, "bc");
    Ok(())
}

#[tokio::test]
async fn the_first_rule_that_matches_decides() -> Outcome {
    let bus = InProcessBus::new();
    let mut subscription = bus.subscribe(&">".parse()?).await?;
    let rule = |which, fault| -> Outcome<Rule> {
        Ok(Rule { leg: Leg::Message, pattern: ">".parse()?, which, fault })
    };
    bus.set_script(vec![rule(0..1, Fault::Drop)?, rule(ALWAYS, Fault::Duplicate)?]);
    for text in ["0", "1", "2"] {
        say(&bus, "n.x", text).await?;
    }
    assert_eq!(waiting(&mut subscription)?, "12");
    Ok(())
}

#[tokio::test]
async fn a_new_script_lets_go_what_the_old_one_held() -> Outcome {
    let bus = InProcessBus::new();
    let mut subscription = bus.subscribe(&">".parse()?).await?;
    let held = [("a.x", Fault::DelayBehind(9)), ("b.x", Fault::Reverse(9))];
    let mut rules = Vec::new();
    for (pattern, fault) in held {
        rules.push(Rule { leg: Leg::Message, pattern: pattern.parse()?, which: ALWAYS, fault });
    }
    bus.set_script(rules);
    for (on, text) in [("b.x", "0"), ("a.x", "1"), ("b.x", "2"), ("a.x", "3")] {
        say(&bus, on, text).await?;
    }
    assert_eq!(waiting(&mut subscription)?, "");
    bus.set_script(Vec::new());
    assert_eq!(waiting(&mut subscription)?, "1320");
    say(&bus, "a.x", "4").await?;
    assert_eq!(waiting(&mut subscription)?, "4");
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_delay_is_by_the_clock() -> Outcome {
    let bus = InProcessBus::new();
    let mut subscription = bus.subscribe(&">".parse()?).await?;
    script(&bus, Leg::Message, 0..1, Fault::DelayFor(5 * SECOND))?;
    let began = Instant::now();
    say(&bus, "n.x", "0").await?;
    say(&bus, "n.x", "1").await?;
    assert_eq!(next(&mut subscription).await?, "1");
    assert_eq!(began.elapsed(), Duration::ZERO);
    assert_eq!(next(&mut subscription).await?, "0");
    assert_eq!(began.elapsed(), 5 * SECOND);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_lost_request_was_not_handled_and_a_lost_answer_was() -> Outcome {
    for (leg, handled) in [(Leg::Request, 0), (Leg::Answer, 1)] {
        let bus = InProcessBus::new();
        script(&bus, leg, 0..1, Fault::Drop)?;
        let served = serve(&bus).await?;
        let began = Instant::now();
        let lost = bus.request(&"n.x".parse()?, "1".into(), 2 * SECOND).await;
        assert!(matches!(lost, Err(RequestError::TimedOut(_))), "{leg:?}: {lost:?}");
        assert_eq!(began.elapsed(), 2 * SECOND);
        assert_eq!(served.borrow().len(), handled, "{leg:?}");
        let again = bus.request(&"n.x".parse()?, "1".into(), 2 * SECOND).await?;
        assert_eq!(again, Bytes::from_static(b"1"));
        assert_eq!(served.borrow().len(), handled + 1, "{leg:?}");
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_late_request_is_handled_although_its_asker_is_gone() -> Outcome {
    let bus = InProcessBus::new();
    script(&bus, Leg::Request, 0..1, Fault::DelayFor(9 * SECOND))?;
    let mut served = serve(&bus).await?;
    let late = bus.request(&"n.x".parse()?, "1".into(), 2 * SECOND).await;
    assert!(matches!(late, Err(RequestError::TimedOut(_))), "{late:?}");
    assert!(served.borrow().is_empty());
    let began = Instant::now();
    served.changed().await?;
    assert_eq!(began.elapsed(), 7 * SECOND);
    assert_eq!(*served.borrow(), ["1"]);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_doubled_request_is_handled_twice_and_answered_once() -> Outcome {
    let bus = InProcessBus::new();
    script(&bus, Leg::Request, ALWAYS, Fault::Duplicate)?;
    let served = serve(&bus).await?;
    let answer = bus.request(&"n.x".parse()?, "1".into(), SECOND).await?;
    assert_eq!(answer, Bytes::from_static(b"1"));
    // The answer to the second copy has nobody to go to, and must not answer the next request.
    let answer = bus.request(&"n.x".parse()?, "2".into(), SECOND).await?;
    assert_eq!(answer, Bytes::from_static(b"2"));
    tokio::task::yield_now().await;
    assert_eq!(*served.borrow(), ["1", "1", "2", "2"]);
    Ok(())
}

/// A cut network is silence, not the knowledge that nobody is there.
#[tokio::test(start_paused = true)]
async fn a_cut_network_times_out_even_with_nobody_there() -> Outcome {
    let bus = InProcessBus::new();
    script(&bus, Leg::Request, ALWAYS, Fault::Drop)?;
    let cut = bus.request(&"n.x".parse()?, "1".into(), SECOND).await;
    assert!(matches!(cut, Err(RequestError::TimedOut(_))), "{cut:?}");
    bus.set_script(Vec::new());
    let healed = bus.request(&"n.x".parse()?, "1".into(), SECOND).await;
    assert!(matches!(healed, Err(RequestError::NoResponder)), "{healed:?}");
    Ok(())
}

fn script(bus: &InProcessBus, leg: Leg, which: std::ops::Range<u64>, fault: Fault) -> Outcome {
    bus.set_script(vec![Rule { leg, pattern: "n.*".parse()?, which, fault }]);
    Ok(())
}

async fn say(bus: &InProcessBus, on: &str, text: &str) -> Outcome {
    let subject: Subject = on.parse()?;
    Ok(bus.publish(&subject, Bytes::copy_from_slice(text.as_bytes())).await?)
}

fn waiting(subscription: &mut Subscription) -> Outcome<String> {
    let mut all = String::new();
    while let Some(message) = subscription.try_next() {
        all.push_str(std::str::from_utf8(&message.payload)?);
    }
    Ok(all)
}

async fn next(subscription: &mut Subscription) -> Outcome<String> {
    let message = subscription.next().await.ok_or("the subscription ended")?;
    Ok(String::from_utf8(message.payload.to_vec())?)
}

/// An echo on every `n.*`; the watch shows what was handled so far.
async fn serve(bus: &InProcessBus) -> Outcome<tokio::sync::watch::Receiver<Vec<String>>> {
    let mut requests = bus.serve(&"n.*".parse()?).await?;
    let (handled, watch) = tokio::sync::watch::channel(Vec::new());
    tokio::spawn(async move {
        while let Some(Request { payload, responder, .. }) = requests.next().await {
            let text = String::from_utf8_lossy(&payload).into_owned();
            handled.send_modify(|all| all.push(text));
            responder.respond(payload).ok();
        }
    });
    Ok(watch)
}
