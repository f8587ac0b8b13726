//! The examples of `std::sync::mpsc`.

use super::s::sync::mpsc::*;
use super::s::thread;
use super::s::time::{Duration, Instant};

examples! {
    simple_use {
        let (sender, receiver) = channel();
        thread::spawn(move || sender.send(10).unwrap());
        assert_eq!(receiver.recv().unwrap(), 10);
    }
    shared_use {
        let (sender, receiver) = channel();
        for number in 0..2 {
            let sender = sender.clone();
            thread::spawn(move || sender.send(number).unwrap());
        }
        let mut numbers = [receiver.recv().unwrap(), receiver.recv().unwrap()];
        numbers.sort();
        assert_eq!(numbers, [0, 1]);
    }
    hang_ups_are_errors {
        let (sender, receiver) = channel::<i32>();
        drop(sender);
        assert_eq!(receiver.recv(), Err(RecvError));
    }
    synchronous_use {
        let (sender, receiver) = sync_channel::<i32>(0);
        let child = thread::spawn(move || sender.send(53).unwrap());
        assert_eq!(receiver.recv(), Ok(53));
        child.join().unwrap();
    }
    unbounded_receive_loop {
        let (sender, receiver) = sync_channel(3);
        for _ in 0..2 {
            let sender = sender.clone();
            thread::spawn(move || sender.send("ok").unwrap());
        }
        drop(sender);
        let mut count = 0;
        while let Ok(message) = receiver.recv() {
            assert_eq!(message, "ok");
            count += 1;
        }
        assert_eq!(count, 2);
    }
    a_bounded_channel_blocks {
        let (sender, receiver) = sync_channel(1);
        sender.send(1).unwrap();
        let child = thread::spawn(move || sender.send(2).unwrap());
        assert_eq!((receiver.recv(), receiver.recv()), (Ok(1), Ok(2)));
        child.join().unwrap();
    }
    send_to_nobody {
        let (sender, receiver) = channel();
        sender.send(1).unwrap();
        drop(receiver);
        assert_eq!(sender.send(1).unwrap_err().0, 1);
    }
    sync_send_wakes_up_when_the_receiver_goes {
        let (sender, receiver) = sync_channel(0);
        let child = thread::spawn(move || drop(receiver));
        assert_eq!(sender.send(1), Err(SendError(1)));
        child.join().unwrap();
    }
    try_send {
        let (sender, receiver) = sync_channel(1);
        let other = sender.clone();
        let child = thread::spawn(move || {
            sender.send(1).unwrap();
            sender.send(2).is_ok()
        });
        let sent = other.try_send(3).is_ok();
        drop(other);
        let mut numbers: Vec<_> = receiver.iter().collect();
        numbers.sort();
        assert_eq!(numbers, if sent { vec![1, 2, 3] } else { vec![1, 2] });
        assert!(child.join().unwrap());
    }
    try_send_tells_full_from_disconnected {
        let (sender, receiver) = sync_channel(1);
        assert_eq!((sender.try_send(1), sender.try_send(2)), (Ok(()), Err(TrySendError::Full(2))));
        drop(receiver);
        assert_eq!(sender.try_send(3), Err(TrySendError::Disconnected(3)));
    }
    try_recv {
        let (sender, receiver) = channel::<i32>();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        sender.send(1).unwrap();
        drop(sender);
        assert_eq!((receiver.try_recv(), receiver.try_recv()), (Ok(1), Err(TryRecvError::Disconnected)));
    }
    recv_waits {
        let (sender, receiver) = channel();
        let child = thread::spawn(move || sender.send(1u8).unwrap());
        child.join().unwrap();
        assert_eq!(receiver.recv(), Ok(1));
    }
    recv_gets_what_was_sent_before_the_hang_up {
        let (sender, receiver) = channel();
        let child = thread::spawn(move || [1u8, 2].into_iter().for_each(|number| sender.send(number).unwrap()));
        child.join().unwrap();
        assert_eq!([receiver.recv(), receiver.recv(), receiver.recv()], [Ok(1), Ok(2), Err(RecvError)]);
    }
    recv_timeout_receives {
        let (sender, receiver) = channel();
        sender.send('a').unwrap();
        assert_eq!(receiver.recv_timeout(Duration::from_millis(400)), Ok('a'));
    }
    recv_timeout_expires {
        let (sender, receiver) = channel::<char>();
        let start = Instant::now();
        let error = receiver.recv_timeout(Duration::from_millis(3)).unwrap_err();
        assert_eq!(error, RecvTimeoutError::Timeout);
        assert!(start.elapsed() >= Duration::from_millis(3));
        drop(sender);
        assert_eq!(receiver.recv_timeout(Duration::from_secs(9)), Err(RecvTimeoutError::Disconnected));
    }
    iter_ends_with_the_last_sender {
        let (sender, receiver) = channel();
        thread::spawn(move || (1..=3).for_each(|number| sender.send(number).unwrap()));
        assert_eq!(receiver.iter().collect::<Vec<u8>>(), [1, 2, 3]);
    }
    try_iter_does_not_wait {
        let (sender, receiver) = channel();
        assert!(receiver.try_iter().next().is_none());
        (1..=3).for_each(|number| sender.send(number).unwrap());
        assert_eq!(receiver.try_iter().collect::<Vec<u8>>(), [1, 2, 3]);
    }
    into_iter {
        let (sender, receiver) = channel();
        let child = thread::spawn(move || [1, 1, 1].map(|number| sender.send(number).is_ok()));
        assert_eq!(receiver.into_iter().sum::<i32>(), 3);
        assert_eq!(child.join().unwrap(), [true; 3]);
    }
    loop_over_a_reference {
        let (sender, receiver) = channel();
        sender.send(4).unwrap();
        drop(sender);
        for number in &receiver {
            assert_eq!(number, 4);
        }
        assert_eq!(receiver.recv(), Err(RecvError));
    }
    errors_in_words {
        assert_eq!(RecvError.to_string(), "receiving on a closed channel");
        assert_eq!(SendError(1).to_string(), "sending on a closed channel");
        assert_eq!(TryRecvError::Empty.to_string(), "receiving on an empty channel");
        assert_eq!(TrySendError::Full(1).to_string(), "sending on a full channel");
        assert_eq!(RecvTimeoutError::Timeout.to_string(), "timed out waiting on channel");
    }
}
