//! Two values are pushed while another thread pops.
//!
//! ```toml
//! llq = "0.1"
//! ```

use llq::{Node, Queue};

#[test]
fn in_order() {
    let (mut producer, mut consumer) = Queue::new().split();
    let thread =
        std::thread::spawn(move || (1..=2).for_each(|value| producer.push(Node::new(Box::new(value)))));
    let mut popped: Vec<_> = (0..2).filter_map(|_| consumer.pop()).map(Node::into_inner).collect();
    thread.join().unwrap();
    popped.extend(std::iter::from_fn(|| consumer.pop()).map(Node::into_inner));
    assert_eq!(popped, [Box::new(1), Box::new(2)]);
}
