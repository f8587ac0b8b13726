//! A pointer is replaced while somebody follows it.
//!
//! ```toml
//! circ = "0.2"
//! ```

use circ::{AtomicRc, Rc, RcObject, cs};
use std::sync::atomic::Ordering::SeqCst;

struct Number(Box<u32>);

unsafe impl RcObject for Number {
    fn pop_edges(&mut self, _: &mut Vec<Rc<Self>>) {}
}

#[test]
fn replaced_while_read() {
    let place = AtomicRc::new(Number(Box::new(1)));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let guard = cs();
            let number = place.load(SeqCst, &guard);
            assert!(number.as_ref().is_some_and(|number| [1, 2].contains(&*number.0)));
        });
        let guard = cs();
        place.store(Rc::new(Number(Box::new(2))), SeqCst, &guard);
    });
}
