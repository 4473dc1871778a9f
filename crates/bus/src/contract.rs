//! The contract: what every implementation of the port keeps, as checks that its own tests run.
//!
//! Each rule speaks on subjects of its own, below `contract.`. A rule that is broken panics where it is
//! broken; a bus that answers an error where none is due ends the check with a [`Violation`] that names the
//! rule. What is to arrive is waited for up to [`PATIENCE`], by tokio's clock.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::timeout;

use crate::port::{
    Bus, PAYLOAD_BYTES_MAX, PublishError, Request, RequestError, Requests, Subscription,
};
use crate::queue::QUEUE_LENGTH_MAX;
use crate::subject::{Pattern, Subject};

/// How long a check waits for what must arrive; only a broken bus makes it wait that long.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How long a check waits for an answer that must not come. A late one would only hide a fault, never make a
/// right bus fail.
const SHORT: Duration = Duration::from_millis(200);

/// A rule that a bus did not keep, with the error it answered.
#[derive(Debug)]
pub struct Violation {
    rule: &'static str,
    source: Box<dyn Error + Send + Sync>,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the bus breaks its contract: {}", self.rule)
    }
}

impl Error for Violation {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}

type Checked<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// What every bus keeps, between two handles on it, of one kind or two (over a network: two connections).
///
/// # Errors
/// [`Violation`].
///
/// # Panics
/// Where a rule is broken.
pub async fn check(here: impl Bus, there: impl Bus) -> Result<(), Violation> {
    let of = |rule| move |source| Violation { rule, source };
    arrives(&here, &there).await.map_err(of("a message reaches who wants it, in order"))?;
    nobody_listens(&here).await.map_err(of("publishing to nobody is no error"))?;
    wildcards(&here, &there).await.map_err(of("a pattern chooses subjects"))?;
    leaves(&here, &there).await.map_err(of("who leaves hears no more, the others do"))?;
    slow(&here, &there).await.map_err(of("a slow subscriber blocks nobody and sees the newest"))?;
    answers(&here, &there).await.map_err(of("a request is answered by who serves it"))?;
    nobody_serves(&here, &there).await.map_err(of("nobody serving is said at once"))?;
    silent(&here, &there).await.map_err(of("no answer ends with the time-out"))?;
    shares(&here, &there).await.map_err(of("servers of a pattern share its requests"))?;
    apart(&here, &there).await.map_err(of("a request is no message"))?;
    bounds(&here, &there).await.map_err(of("a payload is bounded where it is sent"))?;
    Ok(())
}

async fn arrives(here: &impl Bus, there: &impl Bus) -> Checked {
    let mut one = there.subscribe(&pattern("contract.arrives")?).await?;
    let mut other = here.subscribe(&pattern("contract.arrives")?).await?;
    for number in 0..100_u32 {
        here.publish(&subject("contract.arrives")?, text(number)).await?;
    }
    for subscription in [&mut one, &mut other] {
        for number in 0..100_u32 {
            let (on, payload) = heard(subscription).await?;
            assert_eq!((on.as_str(), payload), ("contract.arrives", text(number)));
        }
        assert_eq!(subscription.dropped(), 0);
    }
    Ok(())
}

async fn nobody_listens(here: &impl Bus) -> Checked {
    Ok(here.publish(&subject("contract.nobody")?, text(0)).await?)
}

async fn wildcards(here: &impl Bus, there: &impl Bus) -> Checked {
    let mut one = there.subscribe(&pattern("contract.wild.*.end")?).await?;
    let mut rest = there.subscribe(&pattern("contract.wild.>")?).await?;
    let on = ["contract.wild", "contract.wild.a", "contract.wild.a.end", "contract.wild.a.b.end"];
    for (number, on) in (0_u32..).zip(on) {
        here.publish(&subject(on)?, text(number)).await?;
    }
    here.publish(&subject("contract.wild.last.end")?, text(9)).await?;
    for (number, on) in [(2, "contract.wild.a.end"), (9, "contract.wild.last.end")] {
        assert_eq!(heard(&mut one).await?, (subject(on)?, text(number)));
    }
    for (number, on) in (0_u32..).zip(on).skip(1) {
        assert_eq!(heard(&mut rest).await?, (subject(on)?, text(number)));
    }
    Ok(())
}

async fn leaves(here: &impl Bus, there: &impl Bus) -> Checked {
    let leaving = there.subscribe(&pattern("contract.leaves")?).await?;
    let mut staying = there.subscribe(&pattern("contract.leaves")?).await?;
    drop(leaving);
    here.publish(&subject("contract.leaves")?, text(1)).await?;
    assert_eq!(heard(&mut staying).await?.1, text(1));
    Ok(())
}

async fn slow(here: &impl Bus, there: &impl Bus) -> Checked {
    let mut subscription = there.subscribe(&pattern("contract.slow")?).await?;
    let last = u32::try_from(QUEUE_LENGTH_MAX)? * 2;
    for number in 0..=last {
        here.publish(&subject("contract.slow")?, text(number)).await?;
    }
    let mut before = None;
    loop {
        let number: u32 = std::str::from_utf8(&heard(&mut subscription).await?.1)?.parse()?;
        assert!(before < Some(number), "{number} came after {before:?}");
        before = Some(number);
        if number == last {
            return Ok(());
        }
    }
}

async fn answers(here: &impl Bus, there: &impl Bus) -> Checked {
    let mut requests = there.serve(&pattern("contract.answers.*")?).await?;
    let on = subject("contract.answers.box-3")?;
    let (answer, served) = tokio::join!(here.request(&on, text(7), PATIENCE), async {
        let request = asked(&mut requests).await?;
        let asked = (request.subject, request.payload);
        request.responder.respond(text(8))?;
        Checked::Ok(asked)
    });
    assert_eq!(served?, (on, text(7)));
    assert_eq!(answer?, text(8));
    Ok(())
}

async fn nobody_serves(here: &impl Bus, there: &impl Bus) -> Checked {
    let on = subject("contract.nobody-serves")?;
    let answer = here.request(&on, text(0), PATIENCE).await;
    assert!(matches!(answer, Err(RequestError::NoResponder)), "{answer:?}");

    let requests = there.serve(&pattern("contract.nobody-serves")?).await?;
    drop(requests);
    // Over a network the leaving is heard a little later: until then a request may wait for its time-out.
    for _ in 0..100 {
        match here.request(&on, text(0), SHORT).await {
            Err(RequestError::NoResponder) => return Ok(()),
            Err(RequestError::TimedOut(_)) => {}
            other => return Err(format!("a server that left answered {other:?}").into()),
        }
    }
    Err("a server that left is still asked".into())
}

async fn silent(here: &impl Bus, there: &impl Bus) -> Checked {
    let mut requests = there.serve(&pattern("contract.silent")?).await?;
    let on = subject("contract.silent")?;
    let answer = here.request(&on, text(1), SHORT).await;
    assert!(matches!(answer, Err(RequestError::TimedOut(_))), "nobody read: {answer:?}");
    // Its answer comes too late, and goes to nobody.
    asked(&mut requests).await?.responder.respond(text(2))?;

    let (answer, dropped) = tokio::join!(here.request(&on, text(3), SHORT), async {
        asked(&mut requests).await.map(drop)
    });
    dropped?;
    assert!(matches!(answer, Err(RequestError::TimedOut(_))), "responder dropped: {answer:?}");
    Ok(())
}

async fn shares(here: &impl Bus, there: &impl Bus) -> Checked {
    let mut one = there.serve(&pattern("contract.shares")?).await?;
    let mut other = here.serve(&pattern("contract.shares")?).await?;
    let on = subject("contract.shares")?;
    for number in 0..20_u32 {
        let request = here.request(&on, text(number), PATIENCE);
        let serve = async {
            let asked = tokio::select! {
                asked = asked(&mut one) => asked,
                asked = asked(&mut other) => asked,
            };
            asked?.responder.respond(text(number))?;
            Checked::Ok(())
        };
        let (answer, handled) = tokio::join!(request, serve);
        handled?;
        assert_eq!(answer?, text(number));
        assert!(one.try_next().is_none() && other.try_next().is_none(), "two were asked");
    }
    Ok(())
}

async fn apart(here: &impl Bus, there: &impl Bus) -> Checked {
    let mut subscription = there.subscribe(&pattern("contract.apart.message")?).await?;
    let mut requests = there.serve(&pattern("contract.apart.request")?).await?;
    let (message, request) =
        (subject("contract.apart.message")?, subject("contract.apart.request")?);
    here.publish(&message, text(1)).await?;
    let (answer, served) = tokio::join!(here.request(&request, text(2), PATIENCE), async {
        asked(&mut requests).await?.responder.respond(text(3))?;
        Checked::Ok(())
    });
    served?;
    assert_eq!(answer?, text(3));
    assert_eq!(heard(&mut subscription).await?.1, text(1));
    Ok(())
}

async fn bounds(here: &impl Bus, there: &impl Bus) -> Checked {
    let (largest, over) =
        (Bytes::from(vec![7; PAYLOAD_BYTES_MAX]), Bytes::from(vec![7; PAYLOAD_BYTES_MAX + 1]));
    let on = subject("contract.bounds")?;
    let mut subscription = there.subscribe(&pattern("contract.bounds")?).await?;
    let refused = here.publish(&on, over.clone()).await;
    assert!(matches!(refused, Err(PublishError::TooLarge(_))), "{refused:?}");
    here.publish(&on, largest.clone()).await?;
    assert!(heard(&mut subscription).await?.1 == largest, "the largest payload did not arrive");

    let on = subject("contract.bounds.request")?;
    let mut requests = there.serve(&pattern("contract.bounds.request")?).await?;
    let refused = here.request(&on, over.clone(), PATIENCE).await;
    assert!(matches!(refused, Err(RequestError::TooLarge(_))), "{refused:?}");
    let (answer, served) = tokio::join!(here.request(&on, largest.clone(), PATIENCE), async {
        let request = asked(&mut requests).await?;
        assert!(request.payload == largest, "the largest request did not arrive");
        request.responder.respond(largest.clone())?;
        Checked::Ok(())
    });
    served?;
    assert!(answer? == largest, "the largest answer did not arrive");

    let (answer, refused) = tokio::join!(here.request(&on, text(0), SHORT), async {
        Checked::Ok(asked(&mut requests).await?.responder.respond(over.clone()))
    });
    assert!(refused?.is_err(), "an answer over the bound was taken");
    assert!(matches!(answer, Err(RequestError::TimedOut(_))), "{answer:?}");
    Ok(())
}

fn subject(text: &str) -> Checked<Subject> {
    Ok(text.parse()?)
}

fn pattern(text: &str) -> Checked<Pattern> {
    Ok(text.parse()?)
}

fn text(number: u32) -> Bytes {
    Bytes::from(number.to_string())
}

async fn heard(subscription: &mut Subscription) -> Checked<(Subject, Bytes)> {
    let message = timeout(PATIENCE, subscription.next()).await?.ok_or("the subscription ended")?;
    Ok((message.subject, message.payload))
}

async fn asked(requests: &mut Requests) -> Checked<Request> {
    timeout(PATIENCE, requests.next()).await?.ok_or_else(|| "the requests ended".into())
}
