//! `get_or_init` takes for unreachable that another thread initialises the cell after it has been seen empty, and before it is taken.
//! Found: internal error: entered unreachable code.
//!
//! ```toml
//! conquer-once = "=0.4.0"
//! ```

use conquer_once::OnceCell;

#[test]
fn two_threads_initialise() {
    static CELL: OnceCell<u32> = OnceCell::uninit();
    let thread = std::thread::spawn(|| *CELL.get_or_init(|| 5));
    assert_eq!(*CELL.get_or_init(|| 5), 5);
    assert_eq!(thread.join().unwrap(), 5);
}
