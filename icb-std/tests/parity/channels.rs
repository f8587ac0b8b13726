//! mpsc.

use super::s::sync::mpsc::*;
use super::s::thread;
use std::time::Duration;

pub(crate) fn unbounded() {
    let (tx, rx) = channel();
    let other = tx.clone();
    let child = thread::spawn(move || {
        other.send(1).unwrap();
        other.send(2).unwrap();
    });
    tx.send(3).unwrap();
    drop(tx);
    let mut all: Vec<i32> = rx.iter().collect();
    let (one, two) = (all.iter().position(|x| *x == 1), all.iter().position(|x| *x == 2));
    assert!(one < two);
    all.sort();
    assert_eq!(all, [1, 2, 3]);
    child.join().unwrap();
    assert_eq!(rx.recv(), Err(RecvError));
}

pub(crate) fn bounded() {
    let (tx, rx) = sync_channel(1);
    let child = thread::spawn(move || {
        for message in 0..3 {
            tx.send(message).unwrap();
        }
    });
    assert_eq!((rx.recv(), rx.recv(), rx.recv(), rx.recv()), (Ok(0), Ok(1), Ok(2), Err(RecvError)));
    child.join().unwrap();
}

pub(crate) fn rendezvous() {
    let (tx, rx) = sync_channel(0);
    assert_eq!(tx.try_send(0), Err(TrySendError::Full(0)));
    let child = thread::spawn(move || {
        tx.send(1).unwrap();
        tx.send(2)
    });
    assert_eq!(rx.recv(), Ok(1));
    drop(rx);
    assert_eq!(child.join().unwrap(), Err(SendError(2)));
}

pub(crate) fn disconnected() {
    let (tx, rx) = channel::<String>();
    tx.send("dropped".to_owned()).unwrap();
    drop(rx);
    assert_eq!(tx.send("back".to_owned()), Err(SendError("back".to_owned())));
    let (tx, rx) = sync_channel::<u8>(1);
    let child = thread::spawn(move || drop(rx));
    let first = tx.send(1);
    let second = tx.send(2);
    assert!(second.is_err() && (first.is_ok() || first == Err(SendError(1))));
    child.join().unwrap();
    assert_eq!(tx.try_send(3), Err(TrySendError::Disconnected(3)));
}

pub(crate) fn trying() {
    let (tx, rx) = sync_channel(1);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(tx.try_send(1), Ok(()));
    assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
    assert_eq!(rx.try_recv(), Ok(1));
    drop(tx);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
}

pub(crate) fn timeouts() {
    let (tx, rx) = channel();
    assert_eq!(rx.recv_timeout(Duration::from_millis(5)), Err(RecvTimeoutError::Timeout));
    tx.send(1).unwrap();
    assert_eq!(rx.recv_timeout(Duration::MAX), Ok(1));
    drop(tx);
    assert_eq!(rx.recv_timeout(Duration::from_millis(5)), Err(RecvTimeoutError::Disconnected));
}

pub(crate) fn iterators() {
    let (tx, rx) = channel();
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), [1, 2]);
    tx.send(3).unwrap();
    drop(tx);
    let mut seen = Vec::new();
    for message in &rx {
        seen.push(message);
    }
    assert_eq!(seen, [3]);
    assert_eq!(rx.into_iter().next(), None);
}

pub(crate) fn formatting() {
    let (tx, rx) = channel::<u8>();
    assert_eq!(format!("{tx:?} {rx:?}"), "Sender { .. } Receiver { .. }");
    assert_eq!(format!("{:?}", rx.iter()), "Iter { rx: Receiver { .. } }");
    let (tx, _rx) = sync_channel::<u8>(1);
    assert_eq!(format!("{tx:?}"), "SyncSender { .. }");
}
