//! The line to one process: what it is asked, and what it answers. Both ends of it are here.

use super::board::{Again, Asked, Batch, Shared, next_batch};
use super::isolated::Knowledge;
use super::size::Size;
use super::team::Tokens;
use crate::reduction::{Doing, Done, Item};
use crate::runtime::CoroutineProgram;
use crate::varint::{Reader, write};
use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A process is asked for more while it has fewer items than this to answer for.
const MAX_ASKED: usize = 8;
/// How long a process keeps an answer, so that several go together.
const BETWEEN_ANSWERS: Duration = Duration::from_millis(2);

// How answers begin.
const AGAIN: u8 = 0;
const DONE: u8 = 1;
const BEGUN: u8 = 2;
const LEAVES: u8 = 3;

/// Hands items to one process until it is over, or the process has gone and its place is taken. The process is given the next ones before it has
/// answered for those that it is at, so that it need not wait for them.
pub(super) fn hand_out(member: usize, stream: UnixStream, shared: &Shared, tokens: Option<&dyn Tokens>) {
    hand_out_to_the_end(member, stream, shared, tokens);
    shared.wait_to_end(member);
}

fn hand_out_to_the_end(member: usize, stream: UnixStream, shared: &Shared, tokens: Option<&dyn Tokens>) {
    let mut line = Line {
        member,
        stream: BufReader::new(stream),
        before: Item::root(),
        asked: VecDeque::new(),
        is_broken: false,
    };
    loop {
        while line.has_room() {
            let Some(batch) = next_batch(shared, tokens, !line.asked.is_empty()) else { break };
            let Some(batch) = batch else { return };
            // If it has gone, what it has said before tells why.
            line.is_broken = line.ask(batch).is_err();
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
            Answer::Leaves => return line.leave(shared, tokens),
        };
        let Some(asked) = line.asked.pop_front() else { return line.give_up(shared, tokens) };
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
    /// Number of the process.
    member: usize,
    stream: BufReader<UnixStream>,
    /// The last item that was sent.
    before: Item,
    /// Items that it has not answered for, and of which state they were taken from.
    asked: VecDeque<Asked>,
    /// It takes nothing more.
    is_broken: bool,
}

/// What a process has to say of the first item that it was asked for.
enum Answer {
    /// What it has come to; or it has to be done again here.
    Done(Result<Done, Again>),
    /// What has been done of it.
    Begun(Vec<u8>),
    /// That it has become too large, and does nothing more.
    Leaves,
}

impl Line {
    /// Whether more can be asked.
    fn has_room(&self) -> bool {
        !self.is_broken && self.asked.len() < MAX_ASKED
    }

    fn ask(&mut self, batch: Batch) -> io::Result<()> {
        let mut bytes = vec![0; 8];
        write(&mut bytes, u64::from(batch.bound));
        write(&mut bytes, batch.items.len() as u64);
        for asked in batch.items {
            asked.item.encode(&self.before, &mut bytes);
            self.before = asked.item.clone();
            self.asked.push_back(asked);
        }
        let length = bytes.len() as u64 - 8;
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        self.stream.get_mut().write_all(&bytes)
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let answer = receive(&mut self.stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        match answer.split_first() {
            Some((&AGAIN, again)) => {
                let again = Again::decode(&mut Reader::new(again)).ok_or(io::ErrorKind::InvalidData)?;
                Ok(Answer::Done(Err(again)))
            }
            Some((&DONE, done)) => {
                let done = Done::decode(&mut Reader::new(done)).ok_or(io::ErrorKind::InvalidData)?;
                Ok(Answer::Done(Ok(done)))
            }
            Some((&BEGUN, begun)) => Ok(Answer::Begun(begun.to_vec())),
            Some((&LEAVES, _)) => Ok(Answer::Leaves),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    /// The process is gone: what it was asked for is done here.
    fn give_up(self, shared: &Shared, tokens: Option<&dyn Tokens>) {
        self.give_token(tokens);
        shared.lock().give_up(self.asked);
        shared.arrived.notify_one();
    }

    /// The process leaves: what it was asked for is done by others.
    fn leave(self, shared: &Shared, tokens: Option<&dyn Tokens>) {
        self.give_token(tokens);
        shared.lock().put_back(self.member, self.asked);
        shared.arrived.notify_one();
        shared.changed.notify_all();
    }

    /// The process does nothing more: its token, if it has one.
    fn give_token(&self, tokens: Option<&dyn Tokens>) {
        if let Some(tokens) = tokens.filter(|_| !self.asked.is_empty()) {
            tokens.give();
        }
    }
}

/// Who does items for another process.
pub(super) trait Hand {
    /// Does an item of this bound; or it has to be done by the other process. Tells now and then what has been done of it.
    fn work(&mut self, bound: u32, item: Item, tell: &mut dyn FnMut(Vec<u8>)) -> Result<Done, Again>;

    /// Whether this process has become too large to go on.
    fn is_too_large(&mut self) -> bool {
        false
    }
}

/// Does items in this process.
pub(super) struct Here<'a> {
    doing: Doing,
    program: &'a mut CoroutineProgram,
    knowledge: &'a Knowledge,
    size: Size,
}

impl<'a> Here<'a> {
    /// Does them in this way.
    pub(super) fn new(doing: Doing, program: &'a mut CoroutineProgram, knowledge: &'a Knowledge) -> Self {
        Here { doing, program, knowledge, size: Size::new() }
    }
}

impl Hand for Here<'_> {
    fn work(&mut self, bound: u32, item: Item, tell: &mut dyn FnMut(Vec<u8>)) -> Result<Done, Again> {
        self.doing.search_mut().join(bound);
        let done = self.doing.run(item, self.program, tell).ok_or_else(Again::default)?;
        self.knowledge.tell_of(self.program);
        self.size.note(done.figures.trail.len());
        Ok(done)
    }

    fn is_too_large(&mut self) -> bool {
        self.size.is_too_large()
    }
}

/// Does items for another process until it hangs up, or this one has become too large. `resting` is set while there are none.
pub(super) fn serve(mut stream: UnixStream, hand: &mut dyn Hand, resting: &AtomicBool) -> io::Result<()> {
    let mut before = Item::root();
    let mut answers = Answers { bytes: Vec::new(), sent: Instant::now() };
    while let Some(bytes) = receive(&mut stream)? {
        let bad = || io::Error::from(io::ErrorKind::InvalidData);
        let mut reader = Reader::new(&bytes);
        let bound = reader.number().ok_or_else(bad)? as u32;
        resting.store(false, Ordering::Relaxed);
        for _ in 0..reader.length().ok_or_else(bad)? {
            let item = Item::decode(&before, &mut reader).ok_or_else(bad)?;
            let mut tell = |begun: Vec<u8>| {
                answers.add(BEGUN, |bytes| bytes.extend_from_slice(&begun));
                // If the parent has hung up, that is seen soon.
                let _ = answers.send(&mut stream);
            };
            match hand.work(bound, item.clone(), &mut tell) {
                Ok(done) => answers.add(DONE, |bytes| done.encode(bytes)),
                Err(again) => answers.add(AGAIN, |bytes| again.encode(bytes)),
            }
            before = item;
            if hand.is_too_large() {
                answers.add(LEAVES, |_| {});
                return answers.send(&mut stream);
            }
            if answers.sent.elapsed() >= BETWEEN_ANSWERS {
                answers.send(&mut stream)?;
            }
        }
        answers.send(&mut stream)?;
        resting.store(true, Ordering::Relaxed);
    }
    Ok(())
}

/// Answers that have not been sent.
struct Answers {
    bytes: Vec<u8>,
    sent: Instant,
}

impl Answers {
    fn add(&mut self, kind: u8, content: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 8]);
        self.bytes.push(kind);
        content(&mut self.bytes);
        let length = (self.bytes.len() - start - 8) as u64;
        self.bytes[start..start + 8].copy_from_slice(&length.to_le_bytes());
    }

    fn send(&mut self, stream: &mut UnixStream) -> io::Result<()> {
        let sent = stream.write_all(&self.bytes);
        self.bytes.clear();
        self.sent = Instant::now();
        sent
    }
}

/// `None`: the other side has hung up.
fn receive(stream: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
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
