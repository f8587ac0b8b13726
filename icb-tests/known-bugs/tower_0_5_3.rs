//! `Buffer`: if its worker goes after a caller has found it ready, the call is put where nobody reads it, and its answer is waited for for ever
//! (tokio-rs/tokio#7714).
//! Found: deadlock: .
//!
//! ```toml
//! tower = { version = "=0.5.3", features = ["buffer", "util"] }
//! pollster = "0.4"
//! ```

use tower::buffer::Buffer;
use tower::{BoxError, Service, ServiceExt, service_fn};

#[test]
fn a_call_is_answered() {
    let answer = service_fn(|number: u32| async move { Ok::<_, BoxError>(number) });
    let (mut buffer, worker) = Buffer::pair(answer, 1);
    let other = std::thread::spawn(move || drop(worker));
    pollster::block_on(async move {
        if let Ok(ready) = buffer.ready().await {
            let _ = ready.call(1).await;
        }
    });
    other.join().unwrap();
}
