//! The port's contract, between all that can be at the two ends.

use bus::contract::{Violation, check};

use crate::served::Served;

async fn check_all() -> Result<(), Violation> {
    let served = Served::start().await;
    let hub = served.hub.clone();
    check(served.client().await, served.client().await).await?;
    check(hub.clone(), served.client().await).await?;
    check(served.client().await, hub).await?;
    let client = served.client().await;
    check(client.clone(), client).await
}

#[tokio::test]
async fn keeps_the_contract() -> Result<(), Violation> {
    check_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keeps_the_contract_between_threads() -> Result<(), Violation> {
    tokio::spawn(check_all()).await.unwrap()
}
