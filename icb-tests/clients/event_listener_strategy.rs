//! A future that waits for an event, polled and waited for.
//!
//! ```toml
//! event-listener-strategy = "0.5"
//! event-listener = "5"
//! pollster = "0.4"
//! ```

use event_listener::{Event, EventListener};
use event_listener_strategy::{EventListenerFuture, FutureWrapper, Strategy, easy_wrapper};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

struct Flag {
    set: AtomicBool,
    event: Event,
}

pub struct WaitInner {
    flag: Arc<Flag>,
    listener: Option<EventListener>,
}

easy_wrapper! {
    pub struct Wait(WaitInner => ());
    pub(crate) wait();
}

impl EventListenerFuture for WaitInner {
    type Output = ();

    fn poll_with_strategy<'a, S: Strategy<'a>>(
        self: Pin<&mut Self>,
        strategy: &mut S,
        context: &mut S::Context,
    ) -> Poll<()> {
        let this = self.get_mut();
        loop {
            if this.flag.set.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            if this.listener.is_none() {
                this.listener = Some(this.flag.event.listen());
            } else if strategy.poll(&mut this.listener, context).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

fn pair() -> (Arc<Flag>, WaitInner) {
    let flag = Arc::new(Flag { set: AtomicBool::new(false), event: Event::new() });
    (flag.clone(), WaitInner { flag, listener: None })
}

fn set(flag: &Flag) {
    flag.set.store(true, Ordering::SeqCst);
    flag.event.notify(usize::MAX);
}

#[test]
fn polled() {
    let (flag, inner) = pair();
    let thread = std::thread::spawn(move || set(&flag));
    pollster::block_on(FutureWrapper::new(inner));
    thread.join().unwrap();
}

#[test]
fn waited_for() {
    let (flag, inner) = pair();
    let thread = std::thread::spawn(move || set(&flag));
    Wait::_new(inner).wait();
    thread.join().unwrap();
}
