//! The line to one process: what it is asked, and what it answers. Both ends of it are here.

use super::board::{Asked, Batch, Shared, next_batch};
use super::team::Tokens;
use crate::reduction::{Doing, Done, Item};
use crate::varint::{Reader, write};
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};

/// A process is asked for more while it has fewer items than this to answer for.
const MAX_ASKED: usize = 4;

// How answers begin.
const AGAIN: u64 = 0;
const DONE: u64 = 1;
const BEGUN: u64 = 2;

/// Hands items to one process for as long as there are any. The process is given the next ones before it has answered for
/// those that it is at, so that it need not wait for them.
pub(super) fn hand_out(stream: UnixStream, shared: &Shared, tokens: Option<&dyn Tokens>) {
    let mut line = Line { stream, before: Item::root(), asked: VecDeque::new() };
    loop {
        while line.has_room() {
            let Some(batch) = next_batch(shared, tokens, !line.asked.is_empty()) else { break };
            let Some(batch) = batch else { return };
            if line.ask(batch).is_err() {
                return line.give_up(shared, tokens);
            }
        }
        let Ok(answer) = line.answer() else { return line.give_up(shared, tokens) };
        let done = match answer {
            Answer::Done(done) => done,
            Answer::Begun(begun) => {
                if let Some(asked) = line.asked.front() {
                    shared.lock().note_begun(asked, begun);
                }
                continue;
            }
        };
        let Some(asked) = line.asked.pop_front() else { return };
        if let Some(tokens) = tokens.filter(|_| line.asked.is_empty()) {
            tokens.give();
        }
        let needed = shared.lock().answer(&asked, done);
        if needed {
            shared.arrived.notify_one();
        }
        // It may have left something to do.
        shared.changed.notify_all();
    }
}

/// The line to a process.
struct Line {
    stream: UnixStream,
    /// The last item that was sent.
    before: Item,
    /// Items that it has not answered for, and of which state they were taken from.
    asked: VecDeque<Asked>,
}

/// What a process has to say of the first item that it was asked for.
enum Answer {
    /// What it has come to. `None`: it has to be done again here.
    Done(Option<Done>),
    /// What has been done of it.
    Begun(Vec<u8>),
}

impl Line {
    /// Whether more can be asked.
    fn has_room(&self) -> bool {
        self.asked.len() < MAX_ASKED
    }

    fn ask(&mut self, batch: Batch) -> io::Result<()> {
        let mut bytes = Vec::new();
        write(&mut bytes, u64::from(batch.terms.bound));
        write(&mut bytes, u64::from(batch.terms.tries_to_send));
        write(&mut bytes, batch.items.len() as u64);
        for asked in batch.items {
            asked.item.encode(&self.before, &mut bytes);
            self.before = asked.item.clone();
            self.asked.push_back(asked);
        }
        send(&mut self.stream, &bytes)
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let answer = receive(&mut self.stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut reader = Reader::new(&answer);
        match reader.number() {
            Some(AGAIN) => Ok(Answer::Done(None)),
            Some(DONE) => {
                let done = Done::decode(&mut reader).ok_or(io::ErrorKind::InvalidData)?;
                Ok(Answer::Done(Some(done)))
            }
            Some(BEGUN) => Ok(Answer::Begun(answer[1..].to_vec())),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The process is gone: what it was asked for is done here.
    fn give_up(self, shared: &Shared, tokens: Option<&dyn Tokens>) {
        if let Some(tokens) = tokens.filter(|_| !self.asked.is_empty()) {
            tokens.give();
        }
        shared.lock().give_up(self.asked);
        shared.arrived.notify_one();
    }
}

/// Does items for another process until it hangs up. `resting` is set while there are none.
pub(super) fn serve(
    mut stream: UnixStream,
    doing: &mut Doing,
    program: &mut dyn crate::program::Program,
    resting: &AtomicBool,
) -> io::Result<()> {
    let mut before = Item::root();
    while let Some(bytes) = receive(&mut stream)? {
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let mut reader = Reader::new(&bytes);
        let bound = reader.number().ok_or_else(bad)? as u32;
        let tries_to_send = reader.number().ok_or_else(bad)? != 0;
        resting.store(false, Ordering::Relaxed);
        for _ in 0..reader.length().ok_or_else(bad)? {
            let item = Item::decode(&before, &mut reader).ok_or_else(bad)?;
            doing.search_mut().join(bound, tries_to_send);
            let mut tell = |begun: Vec<u8>| {
                let mut answer = vec![BEGUN as u8];
                answer.extend_from_slice(&begun);
                // If the parent has hung up, that is seen soon.
                let _ = send(&mut stream, &answer);
            };
            let mut answer = Vec::new();
            match doing.run(item.clone(), program, &mut tell) {
                Some(done) => {
                    write(&mut answer, DONE);
                    done.encode(&mut answer);
                }
                None => write(&mut answer, AGAIN),
            }
            before = item;
            send(&mut stream, &answer)?;
        }
        resting.store(true, Ordering::Relaxed);
    }
    Ok(())
}

fn send(stream: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(&(bytes.len() as u64).to_le_bytes())?;
    stream.write_all(bytes)
}

/// `None`: the other side has hung up.
fn receive(stream: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
    stream.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}
