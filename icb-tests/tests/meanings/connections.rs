//! Pipes and sockets by which threads wait for one another.

use crate::surroundings::Directory;
use crate::{PANIC, Verdict, check_verdicts, plain, run_alone};
use icb_std::model::{Builder, FailureKind, Reduction};
use icb_std::sync::{Arc, Mutex};
use icb_std::thread;
use icb_tests::abstract_program::random::Random;
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn a_byte_arrives() {
    let (mut reader, mut writer) = io::pipe().unwrap();
    let thread = thread::spawn(move || writer.write_all(b"x").unwrap());
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    thread.join().unwrap();
    assert_eq!(text, "x");
}

/// More than a pipe holds: who writes waits for who reads.
fn more_than_there_is_room_for() {
    const SIZE: usize = 80_000;
    let (mut reader, mut writer) = io::pipe().unwrap();
    let thread = thread::spawn(move || writer.write_all(&[1; SIZE]).unwrap());
    assert_eq!(reader.read_to_end(&mut Vec::new()).unwrap(), SIZE);
    thread.join().unwrap();
}

fn two_write() {
    let (mut reader, writer) = io::pipe().unwrap();
    let writers = [writer.try_clone().unwrap(), writer];
    let mut texts = ["a", "b"].into_iter();
    let threads = writers.map(|mut writer| {
        let text = texts.next().unwrap();
        thread::spawn(move || writer.write_all(text.as_bytes()).unwrap())
    });
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(text, "ab");
}

fn nobody_writes() {
    let (mut reader, _writer) = io::pipe().unwrap();
    let _ = reader.read(&mut [0; 8]);
}

fn each_reads_first() {
    let ((mut a, mut to_a), (mut b, mut to_b)) = (io::pipe().unwrap(), io::pipe().unwrap());
    let thread = thread::spawn(move || {
        a.read_exact(&mut [0]).unwrap();
        to_b.write_all(b"x").unwrap();
    });
    b.read_exact(&mut [0]).unwrap();
    to_a.write_all(b"x").unwrap();
    thread.join().unwrap();
}

fn there_and_back() {
    let (mut here, mut there) = UnixStream::pair().unwrap();
    let thread = thread::spawn(move || {
        let mut text = [0; 4];
        there.read_exact(&mut text).unwrap();
        there.write_all(&text).unwrap();
    });
    here.write_all(b"ping").unwrap();
    let mut text = String::new();
    here.read_to_string(&mut text).unwrap();
    thread.join().unwrap();
    assert_eq!(text, "ping");
}

/// A read that gives up at the end of its time, which may be over before the byte has come.
fn a_read_with_a_limit() {
    let (mut here, mut there) = UnixStream::pair().unwrap();
    here.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let thread = thread::spawn(move || {
        there.write_all(b"x").unwrap();
        there
    });
    let found = here.read(&mut [0; 8]);
    thread.join().unwrap();
    assert_eq!(found.unwrap(), 1);
}

/// The messages of a pair that keeps them apart stay what they are.
fn messages() {
    let (here, there) = UnixDatagram::pair().unwrap();
    let thread = thread::spawn(move || {
        assert_eq!(there.send(&[1; 6000]).unwrap(), 6000);
        assert_eq!(there.send(&[2; 10]).unwrap(), 10);
    });
    assert_eq!(here.recv(&mut [0; 8000]).unwrap(), 6000);
    assert_eq!(here.recv(&mut [0; 8000]).unwrap(), 10);
    thread.join().unwrap();
}

/// A listener on this machine, and its address.
fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn a_connection_there_and_back() {
    let (listener, address) = listener();
    let thread = thread::spawn(move || {
        let mut text = [0; 4];
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut text).unwrap();
        stream.write_all(&text).unwrap();
    });
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"ping").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    thread.join().unwrap();
    assert_eq!(text, "ping");
}

fn who_connects_first_is_accepted_first() {
    let (listener, address) = listener();
    let clients = [1, 2].map(|number| {
        thread::spawn(move || TcpStream::connect(address).unwrap().write_all(&[number]).unwrap())
    });
    let mut numbers = Vec::new();
    for _ in 0..2 {
        listener.accept().unwrap().0.read_to_end(&mut numbers).unwrap();
    }
    for client in clients {
        client.join().unwrap();
    }
    assert_eq!(numbers, [1, 2]);
}

fn both_ends_read_first() {
    let (listener, address) = listener();
    let thread = thread::spawn(move || listener.accept().unwrap().0.read_exact(&mut [0]).unwrap());
    TcpStream::connect(address).unwrap().read_exact(&mut [0]).unwrap();
    thread.join().unwrap();
}

/// Nobody is there yet, or not any more, or in time.
fn a_listener_for_a_moment() {
    let (listener, address) = listener();
    let thread = thread::spawn(move || drop(listener));
    let connected = TcpStream::connect(address);
    thread.join().unwrap();
    assert!(connected.is_ok());
}

fn datagrams_there_and_back() {
    let [here, there] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let to = there.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let mut text = [0; 8];
        let (size, from) = there.recv_from(&mut text).unwrap();
        there.send_to(&text[..size], from).unwrap();
    });
    here.send_to(b"ping", to).unwrap();
    assert_eq!(here.recv(&mut [0; 8]).unwrap(), 4);
    thread.join().unwrap();
}

/// Who sends is bound to all addresses, or to none.
fn datagrams_from_anywhere() {
    let directory = Directory::new("datagram");
    let path = directory.0.join("socket");
    let (there, in_files) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UnixDatagram::bind(&path).unwrap());
    let to = there.local_addr().unwrap();
    let thread = thread::spawn(move || {
        UdpSocket::bind("0.0.0.0:0").unwrap().send_to(b"ping", to).unwrap();
        let connected = UnixDatagram::unbound().unwrap();
        connected.connect(path).unwrap();
        connected.send(b"pong").unwrap();
    });
    assert_eq!(in_files.recv(&mut [0; 8]).unwrap(), 4);
    assert_eq!(there.recv(&mut [0; 8]).unwrap(), 4);
    thread.join().unwrap();
}

fn a_socket_in_the_file_system() {
    let directory = Directory::new("socket");
    let path = directory.0.join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let thread = thread::spawn(move || UnixStream::connect(path).unwrap().write_all(b"x").unwrap());
    let mut text = String::new();
    listener.accept().unwrap().0.read_to_string(&mut text).unwrap();
    thread.join().unwrap();
    assert_eq!(text, "x");
}

/// Every execution with at most one preemption, and those that the default reduction leaves.
fn check_with_each_search(table: &[(&str, fn(), Verdict)]) {
    for reduction in [Reduction::None, Reduction::default()] {
        check_verdicts(&plain().max_bound(1).reduction(reduction), table);
    }
}

#[test]
fn threads_connect_to_one_another() {
    let deadlock = Some((FailureKind::Deadlock, 0));
    let table: &[(&str, fn(), Verdict)] = &[
        ("a_connection_there_and_back", a_connection_there_and_back, None),
        ("who_connects_first", who_connects_first_is_accepted_first, Some((FailureKind::Panic, 0))),
        ("both_ends_read_first", both_ends_read_first, deadlock),
        ("a_listener_for_a_moment", a_listener_for_a_moment, PANIC),
        ("datagrams_there_and_back", datagrams_there_and_back, None),
        ("datagrams_from_anywhere", datagrams_from_anywhere, None),
        ("a_socket_in_the_file_system", a_socket_in_the_file_system, None),
    ];
    check_with_each_search(table);
}

/// As much as there is room for, although the system would say that there is none: a pair of sockets shows room only while most of it is free.
fn what_fits_does_not_wait() {
    let (mut here, there) = UnixStream::pair().unwrap();
    let thread = thread::spawn(|| ());
    here.write_all(&[1; 100_000]).unwrap();
    here.set_write_timeout(Some(Duration::from_millis(10))).unwrap();
    assert!(here.write_all(&[1; 10_000_000]).is_err());
    assert_eq!(io::pipe().unwrap().0.read(&mut []).unwrap(), 0);
    thread.join().unwrap();
    drop(there);
}

/// A process is started while a thread waits already: what it writes does not come from the model.
fn a_process_writes_to_who_waits() {
    let (mut reader, writer) = io::pipe().unwrap();
    let (mut told, mut tell) = io::pipe().unwrap();
    let thread = thread::spawn(move || {
        tell.write_all(b"x").unwrap();
        reader.read_exact(&mut [0; 3]).unwrap();
    });
    told.read_exact(&mut [0]).unwrap();
    thread::yield_now();
    let mut child = Command::new("sh").args(["-c", "sleep 0.1; echo hi"]).stdout(writer).spawn().unwrap();
    thread.join().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_another_process_writes_is_no_part_of_a_model() {
    let report = plain().max_bound(0).explore(a_process_writes_to_who_waits);
    let kind = report.failure.as_ref().map(|failure| failure.kind);
    assert!(matches!(kind, None | Some(FailureKind::Blocked)), "{report}");
}

/// What another process writes is waited for as ever.
fn a_process() {
    let thread = thread::spawn(|| Command::new("echo").arg("hello").output().unwrap());
    assert_eq!(thread.join().unwrap().stdout, b"hello\n");
}

/// The same by `fork`: what the copy of this process does is no part of the model.
fn a_forked_process() {
    let thread = thread::spawn(|| {
        let mut command = Command::new("echo");
        // SAFETY: it does nothing.
        unsafe { command.arg("hello").pre_exec(|| Ok(())) };
        command.output().unwrap()
    });
    assert_eq!(thread.join().unwrap().stdout, b"hello\n");
}

#[test]
fn threads_wait_for_one_another_in_pipes() {
    let deadlock = Some((FailureKind::Deadlock, 0));
    let table: &[(&str, fn(), Verdict)] = &[
        ("a_byte_arrives", a_byte_arrives, None),
        ("more_than_there_is_room_for", more_than_there_is_room_for, None),
        ("two_write", two_write, Some((FailureKind::Panic, 0))),
        ("nobody_writes", nobody_writes, deadlock),
        ("each_reads_first", each_reads_first, deadlock),
        ("there_and_back", there_and_back, None),
        ("a_read_with_a_limit", a_read_with_a_limit, PANIC),
        ("messages", messages, None),
        ("what_fits_does_not_wait", what_fits_does_not_wait, None),
        ("a_process", a_process, None),
        ("a_forked_process", a_forked_process, None),
    ];
    check_with_each_search(table);
}

/// Threads in pairs, each with a pipe, a pair of sockets or a connection of its own: nobody has anything to do with another pair.
fn in_pairs<R: Read + Send + 'static, W: Write + Send + 'static>(make: impl Fn() -> (R, W)) {
    let pair = |(mut reader, mut writer): (R, W)| {
        let writer = thread::spawn(move || writer.write_all(b"x").unwrap());
        [writer, thread::spawn(move || reader.read_exact(&mut [0]).unwrap())]
    };
    let made: Vec<_> = (0..3).map(|_| make()).collect();
    let threads: Vec<_> = made.into_iter().flat_map(pair).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn connection() -> (TcpStream, TcpStream) {
    let (listener, address) = listener();
    let client = TcpStream::connect(address).unwrap();
    (client, listener.accept().unwrap().0)
}

#[test]
fn pairs_that_have_nothing_in_common_do_not_multiply() {
    let programs: [fn(); 3] = [
        || in_pairs(|| io::pipe().unwrap()),
        || in_pairs(|| UnixStream::pair().unwrap()),
        || in_pairs(connection),
    ];
    for (program, number) in programs.into_iter().zip(0..) {
        let report = Builder::new().max_bound(1).explore(program);
        assert!(report.failure.is_none() && report.complete, "{number}: {report}");
        let counts: Vec<u64> = report.bounds.iter().map(|bound| bound.executions).collect();
        // At bound 0, who of each pair comes first.
        assert!(counts[0] == 8 && counts[1] < 64, "{number}: {counts:?}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Word {
    Write(usize),
    Read(usize),
    /// A read that waits, up to a limit.
    Await(usize),
    Close(usize),
    /// Waits for several files.
    Poll(i32),
    Connect,
    Accept,
    Refuse,
    List,
}

/// Both ends of two pairs of sockets, and then connections: who has connected, and whom the listener has given.
type Ends = Mutex<Vec<Option<Arc<UnixStream>>>>;

fn words(random: &mut Random) -> Vec<Word> {
    let kinds = random.pick(&[6, 9, 12, 13]);
    let file = |random: &mut Random, kinds| random.below(if kinds > 9 { 6 } else { 4 });
    let word = |random: &mut Random| match random.below(kinds) {
        0 | 1 => Word::Write(file(random, kinds)),
        2 | 3 => Word::Read(file(random, kinds)),
        4 => Word::Await(file(random, kinds)),
        5 => Word::Close(file(random, kinds)),
        6 | 7 => Word::Connect,
        8 => Word::Accept,
        9 => Word::Refuse,
        10 => Word::Poll(0),
        11 => Word::Poll(1),
        _ => Word::List,
    };
    let count = 1 + random.below(3);
    (0..count).map(|_| word(random)).collect()
}

fn poll(files: &[Arc<UnixStream>], timeout: i32) -> i64 {
    let asked =
        |file: &Arc<UnixStream>| libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut asked: Vec<libc::pollfd> = files.iter().map(asked).collect();
    // SAFETY: the files are there.
    let found = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, timeout) };
    asked.iter().fold(i64::from(found), |sum, one| sum * 64 + i64::from(one.revents))
}

/// What a list of all these files has to tell.
fn list(files: &[Arc<UnixStream>]) -> i64 {
    // SAFETY: the list is made and closed here.
    unsafe {
        let list = libc::epoll_create1(0);
        for file in files {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            libc::epoll_ctl(list, libc::EPOLL_CTL_ADD, file.as_raw_fd(), &raw mut event);
        }
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 8];
        let count = libc::epoll_wait(list, events.as_mut_ptr(), 8, 0);
        libc::close(list);
        i64::from(count)
    }
}

/// What a thread with these words sees.
fn run(
    words: &[Word],
    me: u8,
    ends: &Ends,
    listener: &Mutex<Option<Arc<UnixListener>>>,
    path: &Path,
) -> Vec<i64> {
    let stream = |file: usize| ends.lock().unwrap()[file].clone();
    let all = || -> Vec<_> { ends.lock().unwrap().iter().flatten().cloned().collect() };
    let code = |result: io::Result<usize>, byte: u8| match result {
        Ok(size) => size as i64 * 1000 + i64::from(byte),
        Err(error) => -i64::from(error.raw_os_error().unwrap_or(1)),
    };
    let read = |file: usize, limit: Option<Duration>| {
        let Some(stream) = stream(file) else { return -1000 };
        let mut byte = [0];
        if let Some(limit) = limit {
            stream.set_read_timeout(Some(limit)).unwrap();
            let result = (&*stream).read(&mut byte);
            return code(result, byte[0]);
        }
        // SAFETY: there is room for a byte.
        let size = unsafe { libc::recv(stream.as_raw_fd(), byte.as_mut_ptr().cast(), 1, libc::MSG_DONTWAIT) };
        code(usize::try_from(size).map_err(|_| io::Error::last_os_error()), byte[0])
    };
    let act = |(at, word): (usize, &Word)| match *word {
        Word::Write(file) => {
            let byte = me * 10 + at as u8;
            stream(file).map_or(-1000, |stream| code((&*stream).write(&[byte]), 0))
        }
        Word::Read(file) => read(file, None),
        Word::Await(file) => read(file, Some(Duration::from_millis(1))),
        Word::Close(file) => {
            let gone = ends.lock().unwrap()[file].take();
            i64::from(gone.is_some())
        }
        Word::Connect => match UnixStream::connect(path) {
            Ok(stream) => {
                let before = ends.lock().unwrap()[4].replace(Arc::new(stream));
                i64::from(before.is_some())
            }
            Err(error) => -i64::from(error.raw_os_error().unwrap_or(1)),
        },
        Word::Accept => {
            let listener = listener.lock().unwrap().clone();
            match listener.map(|listener| listener.accept()) {
                Some(Ok((stream, _))) => {
                    let before = ends.lock().unwrap()[5].replace(Arc::new(stream));
                    i64::from(before.is_some())
                }
                Some(Err(error)) => -i64::from(error.raw_os_error().unwrap_or(1)),
                None => -1000,
            }
        }
        Word::Refuse => {
            let gone = listener.lock().unwrap().take();
            i64::from(gone.is_some())
        }
        Word::Poll(timeout) => poll(&all(), timeout),
        Word::List => list(&all()),
    };
    words.iter().enumerate().map(act).collect()
}

/// What the threads see, in each execution; `None` if there are too many.
fn outcomes(
    program: &[Vec<Word>],
    reduction: Reduction,
    bound: u32,
    directory: &Directory,
) -> Option<(BTreeSet<Vec<i64>>, u64)> {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let (into, program) = (seen.clone(), program.to_vec());
    let path = directory.0.join("socket");
    let builder = Builder::new().max_bound(bound).spurious(false).auto_advance(true).reduction(reduction);
    let report = builder.max_executions(3_000).explore(move || {
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = Arc::new(Mutex::new(Some(Arc::new(listener))));
        let (a, b) = UnixStream::pair().unwrap();
        let (c, d) = UnixStream::pair().unwrap();
        let pairs = [a, b, c, d].map(|end| Some(Arc::new(end)));
        let ends = Arc::new(Mutex::new(pairs.into_iter().chain([None, None]).collect::<Vec<_>>()));
        let begin = |(words, me): (&Vec<Word>, u8)| {
            let (words, ends, listener, path) = (words.clone(), ends.clone(), listener.clone(), path.clone());
            thread::spawn(move || run(&words, me, &ends, &listener, &path))
        };
        let threads: Vec<_> = program.iter().zip(1..).map(begin).collect();
        let mut outcome = Vec::new();
        for thread in threads {
            outcome.extend(thread.join().unwrap());
            outcome.push(i64::MAX);
        }
        for file in 0..6 {
            outcome.extend(run(&[Word::Read(file), Word::Read(file)], 0, &ends, &listener, &path));
        }
        into.lock().unwrap().insert(outcome);
    });
    assert!(report.failure.is_none(), "{:?}", report.failure);
    let seen = seen.lock().unwrap().clone();
    report.complete.then(|| (seen, report.execution_count()))
}

/// How many executions the plain search takes, and the reduced one, with the same outcomes; `None` if they are too many.
fn compared(program: &[Vec<Word>], bound: u32, directory: &Directory) -> Option<[u64; 2]> {
    let (all, plain) = outcomes(program, Reduction::None, bound, directory)?;
    let found = outcomes(program, Reduction::PartialOrder, bound, directory);
    let (some, reduced) = found.expect("it takes no more executions");
    assert_eq!(some, all, "bound {bound}: {program:?}");
    Some([plain, reduced])
}

/// Run by the next test.
mod ends_close {
    use super::*;

    #[test]
    #[ignore]
    fn random_programs_with_sockets_keep_their_outcomes() {
        let directory = Directory::new("random-sockets");
        let (mut count, mut plain, mut reduced) = (0, 0, 0);
        let chosen = icb_tests::seeds::from_environment();
        for seed in chosen.clone().unwrap_or(0..24) {
            let mut random = Random::new(seed);
            let thread_count = 2 + random.below(2);
            let program: Vec<_> = (0..thread_count).map(|_| words(&mut random)).collect();
            for bound in 0..3 {
                let Some(executions) = compared(&program, bound, &directory) else { break };
                (count, plain, reduced) = (count + 1, plain + executions[0], reduced + executions[1]);
            }
        }
        println!("{count} searches, {plain} executions, reduced {reduced}");
        assert!(count >= 40 || chosen.is_some(), "{count}");
    }

    /// Who has connected, and was not accepted, sees it when the listener goes: that connection is not apart from it.
    #[test]
    #[ignore]
    fn a_listener_goes_with_its_connections() {
        let directory = Directory::new("listener");
        let program = [
            vec![Word::Connect, Word::Refuse, Word::Close(0)],
            vec![Word::Write(1)],
            vec![Word::Write(1), Word::Write(2), Word::Read(4)],
        ];
        for bound in 0..2 {
            compared(&program, bound, &directory).expect("it is small");
        }
    }
}

/// A process that another test starts has a copy of each descriptor for a moment, and keeps its end open.
#[test]
fn ends_close_where_no_process_is_started() {
    let output = run_alone("connections::ends_close::", &["--test-threads=1", "--nocapture"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("2 passed"), "{output:?}");
    println!("{text}");
}
