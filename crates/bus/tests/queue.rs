//! The queue between a bus and a reader: bounded, never blocking, and honest about what it dropped.

use std::time::Duration;

use bus::{Fed, QUEUE_LENGTH_MAX, queue};
use tokio::time::timeout;

#[tokio::test]
async fn a_full_queue_drops_its_oldest_and_counts() {
    let (feed, mut queue) = queue();
    for number in 0..QUEUE_LENGTH_MAX {
        assert_eq!(feed.feed(number), Fed::Queued);
    }
    assert_eq!(queue.dropped(), 0);
    for number in 0..3 {
        assert_eq!(feed.feed(QUEUE_LENGTH_MAX + number), Fed::DroppedOldest);
    }
    assert_eq!(queue.dropped(), 3);
    for number in 0..QUEUE_LENGTH_MAX {
        assert_eq!(queue.next().await, Some(number + 3));
    }
    assert_eq!(queue.try_next(), None);
}

#[tokio::test]
async fn a_queue_without_a_feed_is_read_to_its_end() {
    let (feed, mut queue) = queue();
    feed.feed(1);
    feed.feed(2);
    drop(feed);
    assert_eq!(queue.next().await, Some(1));
    assert_eq!(queue.next().await, Some(2));
    assert_eq!(queue.next().await, None);
    assert_eq!(queue.next().await, None);
}

#[tokio::test]
async fn a_feed_sees_that_its_reader_left() {
    let (feed, queue) = queue();
    assert!(!feed.is_gone());
    drop(queue);
    assert!(feed.is_gone());
    assert_eq!(feed.feed(1), Fed::Gone);
}

#[tokio::test]
async fn a_waiting_reader_is_woken_by_an_entry_and_by_the_end() {
    let (feed, mut queue) = queue();
    let reader = tokio::spawn(async move { (queue.next().await, queue.next().await) });
    tokio::task::yield_now().await;
    feed.feed(1);
    tokio::task::yield_now().await;
    drop(feed);
    assert_eq!(reader.await.unwrap(), (Some(1), None));
}

#[tokio::test(start_paused = true)]
async fn giving_up_on_an_entry_loses_none() {
    let (feed, mut queue) = queue();
    for number in 0..3 {
        timeout(Duration::from_secs(1), queue.next()).await.unwrap_err();
        feed.feed(number);
        assert_eq!(timeout(Duration::from_secs(1), queue.next()).await, Ok(Some(number)));
    }
    assert_eq!(queue.dropped(), 0);
}
