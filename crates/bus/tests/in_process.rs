//! The in-process bus keeps the port's contract, and closes for everyone at once.

use std::error::Error;
use std::time::Duration;

use bus::contract;
use bus::{Bus, Bytes, InProcessBus, Pattern, PublishError, RequestError, Subject, SubscribeError};
use tokio::time::Instant;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

#[tokio::test(start_paused = true)]
async fn keeps_the_contract() -> Outcome {
    let bus = InProcessBus::new();
    contract::check(bus.clone(), bus).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_the_contract_between_threads() -> Outcome {
    let bus = InProcessBus::new();
    let here = tokio::spawn(contract::check(bus.clone(), bus));
    here.await??;
    Ok(())
}

#[tokio::test]
async fn servers_of_a_pattern_take_turns() -> Outcome {
    let bus = InProcessBus::new();
    let on: Subject = "api.plans".parse()?;
    let mut first = bus.serve(&"api.*".parse()?).await?;
    let mut second = bus.serve(&"api.*".parse()?).await?;
    for number in 0..4_u8 {
        let request = bus.request(&on, Bytes::copy_from_slice(&[number]), Duration::from_secs(1));
        let taken = if number % 2 == 0 { &mut first } else { &mut second };
        let (answer, served) = tokio::join!(request, async {
            let request = taken.next().await.ok_or("ended")?;
            let payload = request.payload;
            request.responder.respond(payload.clone())?;
            Ok::<_, Box<dyn Error + Send + Sync>>(payload)
        });
        assert_eq!(answer?, served?);
    }
    drop(first);
    let (answer, served) =
        tokio::join!(bus.request(&on, Bytes::new(), Duration::from_secs(1)), async {
            second.next().await.ok_or("ended")?.responder.respond(Bytes::new()).map_err(|_| "large")
        });
    served?;
    assert_eq!(answer?, Bytes::new(), "the server that stayed was not asked");
    Ok(())
}

/// A person's `api.>` tool beside a server of `api.plans`: both are asked, the first answer counts.
#[tokio::test]
async fn servers_of_overlapping_patterns_are_all_asked() -> Outcome {
    let bus = InProcessBus::new();
    let mut wide = bus.serve(&"api.>".parse()?).await?;
    let mut narrow = bus.serve(&"api.plans".parse()?).await?;
    let on: Subject = "api.plans".parse()?;
    let (answer, served) =
        tokio::join!(bus.request(&on, Bytes::new(), Duration::from_secs(1)), async {
            let (one, other) =
                (wide.next().await.ok_or("ended")?, narrow.next().await.ok_or("ended")?);
            other.responder.respond(Bytes::from_static(b"narrow"))?;
            one.responder.respond(Bytes::from_static(b"wide"))?;
            Ok::<_, Box<dyn Error + Send + Sync>>(())
        });
    served?;
    assert_eq!(answer?, Bytes::from_static(b"narrow"));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_wait() -> Outcome {
    let bus = InProcessBus::new();
    let (on, pattern): (Subject, Pattern) = ("a.b".parse()?, "a.*".parse()?);
    let mut subscription = bus.subscribe(&pattern).await?;
    let mut requests = bus.serve(&pattern).await?;
    bus.publish(&on, Bytes::from_static(b"last")).await?;

    let began = Instant::now();
    let asking = bus.request(&on, Bytes::new(), Duration::from_secs(60));
    let (answer, ()) = tokio::join!(asking, async { bus.close() });
    assert!(matches!(answer, Err(RequestError::Closed)), "{answer:?}");
    assert_eq!(began.elapsed(), Duration::ZERO, "it waited for the time-out");

    assert_eq!(subscription.next().await.map(|message| message.payload), Some("last".into()));
    assert!(subscription.next().await.is_none());
    assert!(requests.next().await.is_some());
    assert!(requests.next().await.is_none());
    assert!(matches!(bus.publish(&on, Bytes::new()).await, Err(PublishError::Closed)));
    assert!(matches!(bus.subscribe(&pattern).await, Err(SubscribeError::Closed)));
    assert!(matches!(bus.serve(&pattern).await, Err(SubscribeError::Closed)));
    let answer = bus.request(&on, Bytes::new(), Duration::from_secs(60)).await;
    assert!(matches!(answer, Err(RequestError::Closed)), "{answer:?}");
    Ok(())
}
