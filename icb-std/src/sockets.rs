//! Sockets by which threads of one execution find each other (TCP and UDP on the loopback addresses, sockets of the file system): this file defines the C functions by which programs
//! bind, listen, connect and accept, and those that read and write with an address or a message. In an execution a connection to a listener of the execution's own is one between its
//! threads, as a pair of sockets is ([`streams`](crate::streams)): who waits for one, or for what comes by it, lets others go on. What is written on the loopback interface is at the other
//! end when the call returns, so that all this depends on the order of calls only.
//!
//! Not modelled: connections to anybody else, other addresses, sockets of a program that has started another process; who waits there waits for the system, and the test leaves the
//! model. Of ports that the program leaves to the system (`bind` to port 0) each execution of a process has the same.

use crate::door::{self, OwnLock};
use crate::files::AT_FDCWD;
use crate::made_files;
use crate::open_files::{
    Group, files, is_any_inside, is_listener, listeners, make_one, note_accepted, note_connected,
    note_listener, note_receiver,
};
use crate::streams::{
    SO_TYPE, SOCK_DGRAM, SOCK_STREAM, SOL_SOCKET, filled, is_at_once, option, reads, receives, taken, writes,
};
use crate::surroundings::{about_to_use, directories};
use crate::system::{self, answer_of, system};
use ::std::ffi::{c_int, c_long, c_uint, c_void};

const AF_UNIX: u16 = 1;
const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const SO_REUSEADDR: usize = 2;
const EINPROGRESS: c_long = 115;

/// The largest address, that of a socket in the file system, and its size.
type Address = ([u8; 110], u32);

/// Keeps the functions below in every program that is linked with this crate.
#[used]
static KEEP: Functions =
    Functions { bind, listen, connect, accept, accept4, recvfrom, sendto, recvmsg, sendmsg };

#[expect(dead_code, reason = "what is kept is the functions, for C code")]
struct Functions {
    bind: unsafe extern "C" fn(c_int, *const c_void, c_uint) -> c_int,
    listen: unsafe extern "C" fn(c_int, c_int) -> c_int,
    connect: unsafe extern "C" fn(c_int, *const c_void, c_uint) -> c_int,
    accept: unsafe extern "C" fn(c_int, *mut c_void, *mut c_uint) -> c_int,
    accept4: unsafe extern "C" fn(c_int, *mut c_void, *mut c_uint, c_int) -> c_int,
    recvfrom: unsafe extern "C" fn(c_int, *mut c_void, usize, c_int, *mut c_void, *mut c_uint) -> isize,
    sendto: unsafe extern "C" fn(c_int, *const c_void, usize, c_int, *const c_void, c_uint) -> isize,
    recvmsg: unsafe extern "C" fn(c_int, *mut c_void, c_int) -> isize,
    sendmsg: unsafe extern "C" fn(c_int, *const c_void, c_int) -> isize,
}

/// The address that a socket is bound to.
fn address_of(socket: c_int) -> Option<Address> {
    let mut address: Address = ([0; 110], 110);
    let (bytes, size) = (address.0.as_mut_ptr().addr(), (&raw mut address.1).addr());
    // SAFETY: there is room for so much.
    let result = unsafe { system(system::GETSOCKNAME, socket as usize, bytes, size, 0, 0, 0) };
    (result == 0).then_some(address)
}

/// # Safety
/// There are so many bytes.
unsafe fn address_at(start: *const c_void, size: c_uint) -> Option<Address> {
    let mut address: Address = ([0; 110], size.min(110));
    if start.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe { ::std::ptr::copy_nonoverlapping(start.cast(), address.0.as_mut_ptr(), address.1 as usize) };
    Some(address)
}

fn family(address: &Address) -> u16 {
    u16::from_ne_bytes([address.0[0], address.0[1]])
}

/// Whether only this machine gets there. Who is bound to all addresses is found there as well.
fn is_local(address: &Address) -> bool {
    let bytes = &address.0;
    match family(address) {
        AF_UNIX => true,
        AF_INET => bytes[4] == 127 || bytes[4..8] == [0; 4],
        // `::1`, `::`, and those of the other family.
        AF_INET6 => {
            bytes[8..23] == [0; 15] && bytes[23] <= 1
                || bytes[8..21] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127]
        }
        _ => false,
    }
}

/// Whether who is bound there is so to all addresses.
fn is_any(address: &Address) -> bool {
    match family(address) {
        AF_INET => address.0[4..8] == [0; 4],
        AF_INET6 => address.0[8..24] == [0; 16],
        _ => false,
    }
}

/// Whether who connects to this address comes to a socket that is bound to that one.
fn leads_to(address: &Address, bound: &Address) -> bool {
    if !is_local(address) || !is_local(bound) {
        return false;
    }
    match (family(address), family(bound)) {
        (AF_UNIX, AF_UNIX) => name(address) == name(bound),
        (AF_INET | AF_INET6, AF_INET | AF_INET6) => address.0[2..4] == bound.0[2..4],
        _ => false,
    }
}

/// The path of a socket in the file system, or its name where it has none there, which begins with a zero.
fn name(address: &Address) -> &[u8] {
    let name = &address.0[2..(address.1 as usize).clamp(2, 110)];
    match name.iter().position(|&byte| byte == 0) {
        Some(end) if end > 0 => &name[..end],
        _ => name,
    }
}

/// Where a socket lies in the file system.
fn path(address: &Address) -> Option<&[u8]> {
    Some(name(address))
        .filter(|name| family(address) == AF_UNIX && name.first().is_some_and(|&first| first != 0))
}

/// The ports that this process has chosen, in this order, and how many of them the running execution has had. The same again and again: where the system chooses, ports of
/// connections that are over are not to be had for a minute, and programs that go by addresses (in a table) would do something else each time.
struct Ports {
    known: [u16; 64],
    known_count: usize,
    had: usize,
    is_used: bool,
}

static PORTS: OwnLock<Ports> = OwnLock::new(Ports { known: [0; 64], known_count: 0, had: 0, is_used: false });

/// Ports below those that the system chooses by itself.
const FIRST_PORT: u32 = 20_000;
const PORTS_OF_PROCESS: u32 = 64;
const MAX_ATTEMPTS: u32 = 256;

/// Binds a socket to a port that is not used, as the system does where none is named.
fn bind_somewhere(socket: c_int, address: &Address, is_stream: bool) -> Option<c_long> {
    let mut ports = PORTS.lock();
    door::forget_at_end(&mut ports.is_used, || {
        let mut ports = PORTS.lock();
        (ports.had, ports.is_used) = (0, false);
    });
    let had = ports.had;
    if is_stream {
        // Connections that are over are no obstacle then; another listener is.
        let one = 1_i32;
        let (level, name, value) = (SOL_SOCKET, SO_REUSEADDR, (&raw const one).addr());
        // SAFETY: the value is there.
        unsafe { system(system::SETSOCKOPT, socket as usize, level, name, value, size_of::<i32>(), 0) };
    }
    let begin = ::std::process::id() * PORTS_OF_PROCESS % 12_000 + had as u32;
    let known = (had < ports.known_count).then(|| u32::from(ports.known[had]));
    let others = (0..MAX_ATTEMPTS).map(|attempt| FIRST_PORT + (begin + attempt) % 12_000);
    for port in known.into_iter().chain(others) {
        let port = port as u16;
        let is_taken = ports.known[..ports.known_count].iter().position(|&known| known == port);
        if is_taken.is_some_and(|other| other != had) {
            continue;
        }
        let mut there = *address;
        there.0[2..4].copy_from_slice(&port.to_be_bytes());
        let (bytes, size) = (there.0.as_ptr().addr(), there.1 as usize);
        // SAFETY: the address is there.
        if unsafe { system(system::BIND, socket as usize, bytes, size, 0, 0, 0) } == 0 {
            if let Some(place) = ports.known.get_mut(had) {
                *place = port;
                ports.known_count = ports.known_count.max(had + 1);
            }
            ports.had += 1;
            return Some(0);
        }
    }
    None
}

/// The C function of this name. Who is bound takes an address that nobody else has then, and may get messages from now on.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn bind(socket: c_int, address: *const c_void, size: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    let ask = || unsafe { system(system::BIND, socket as usize, address.addr(), size as usize, 0, 0, 0) };
    // SAFETY: the caller's promise.
    let Some(local) = unsafe { address_at(address, size) }.filter(is_local).filter(|_| door::is_modelled())
    else {
        return answer_of(ask()) as c_int;
    };
    let kind = option(socket, SO_TYPE, 0_i32);
    let is_file = family(&local) == AF_UNIX;
    let result = Group::REST.alone(|| {
        if is_file {
            about_to_use(&[directories(true)]);
        }
        let is_anywhere = !is_file && local.0[2..4] == [0; 2];
        let chosen = is_anywhere.then(|| bind_somewhere(socket, &local, kind == Some(SOCK_STREAM))).flatten();
        chosen.unwrap_or_else(ask)
    });
    if result == 0
        && let Some(path) = path(&local)
    {
        let mut end_with_zero = [0; 111];
        end_with_zero[..path.len()].copy_from_slice(path);
        made_files::note(AT_FDCWD, end_with_zero.as_ptr().cast());
    }
    // Who is bound to all addresses may be about to talk to others.
    if result == 0 && kind == Some(SOCK_DGRAM) && !is_any(&local) {
        note_receiver(socket);
    }
    answer_of(result) as c_int
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn listen(socket: c_int, count: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let ask = || unsafe { system(system::LISTEN, socket as usize, count as usize, 0, 0, 0, 0) };
    if !door::is_modelled() || !address_of(socket).is_some_and(|address| is_local(&address)) {
        return answer_of(ask()) as c_int;
    }
    let result = Group::REST.alone(ask);
    if result == 0 {
        note_listener(socket);
    }
    answer_of(result) as c_int
}

/// The C function of this name. A connection to this machine is there when this returns, whether anybody has accepted it or not.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn connect(socket: c_int, address: *const c_void, size: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    let ask = || unsafe { system(system::CONNECT, socket as usize, address.addr(), size as usize, 0, 0, 0) };
    // SAFETY: the caller's promise.
    let Some(local) = unsafe { address_at(address, size) }.filter(is_local).filter(|_| door::is_modelled())
    else {
        return answer_of(ask()) as c_int;
    };
    note_sender(socket, &local);
    let result = Group::REST.alone(|| {
        let there = listeners(|own| address_of(own).is_some_and(|bound| leads_to(&local, &bound)));
        let result = ask();
        if !there.is_empty() && (result == 0 || result == -EINPROGRESS) {
            note_connected(socket, &there);
            Group::REST.tell();
        }
        result
    });
    answer_of(result) as c_int
}

/// In an execution: a socket for messages that begins to talk to one of the execution's own is one as well.
fn note_sender(socket: c_int, to: &Address) {
    let is_own = |own: c_int| address_of(own).is_some_and(|bound| leads_to(to, &bound));
    if is_local(to)
        && !files().is_known(socket)
        && option(socket, SO_TYPE, 0_i32) == Some(SOCK_DGRAM)
        && is_any_inside(is_own)
    {
        note_receiver(socket);
    }
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn accept(socket: c_int, address: *mut c_void, size: *mut c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { accept4(socket, address, size, 0) }
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn accept4(socket: c_int, address: *mut c_void, size: *mut c_uint, flags: c_int) -> c_int {
    let is_own = door::is_modelled() && is_listener(socket);
    let ask = || {
        let (address, size) = (address.addr(), size.addr());
        // SAFETY: the caller's promise.
        let accepted =
            unsafe { system(system::ACCEPT4, socket as usize, address, size, flags as usize, 0, 0) };
        if is_own && accepted >= 0 {
            note_accepted(socket, accepted as c_int);
        }
        accepted
    };
    answer_of(reads(socket, false, ask)) as c_int
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn recvfrom(
    socket: c_int,
    bytes: *mut c_void,
    count: usize,
    flags: c_int,
    address: *mut c_void,
    size: *mut c_uint,
) -> isize {
    // SAFETY: the caller's promise.
    let ask = |at: usize, count| unsafe {
        system(
            system::RECVFROM,
            socket as usize,
            bytes.addr() + at,
            count,
            flags as usize,
            address.addr(),
            size.addr(),
        )
    };
    answer_of(filled(bytes.addr(), receives(socket, flags, count, ask))) as isize
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn sendto(
    socket: c_int,
    bytes: *const c_void,
    count: usize,
    flags: c_int,
    address: *const c_void,
    size: c_uint,
) -> isize {
    // SAFETY: the caller's promise.
    if let Some(to) = unsafe { address_at(address, size) }.filter(|_| door::is_modelled()) {
        note_sender(socket, &to);
    }
    taken(socket, bytes.addr(), count);
    // SAFETY: the caller's promise.
    let ask = |at: usize, count| unsafe {
        system(
            system::SENDTO,
            socket as usize,
            bytes.addr() + at,
            count,
            flags as usize,
            address.addr(),
            size as usize,
        )
    };
    answer_of(writes(socket, is_at_once(flags), count, ask)) as isize
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn recvmsg(socket: c_int, message: *mut c_void, flags: c_int) -> isize {
    // SAFETY: the caller's promise.
    let ask = || unsafe { system(system::RECVMSG, socket as usize, message.addr(), flags as usize, 0, 0, 0) };
    answer_of(reads(socket, is_at_once(flags), ask)) as isize
}

/// The C function of this name.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(socket: c_int, message: *const c_void, flags: c_int) -> isize {
    if door::is_modelled() && !message.is_null() {
        // SAFETY: the caller's promise: `struct msghdr` begins with an address and its size, the parts and how many, and ends with control messages and how long they are.
        let [to, size, _, _, _, control_size] = unsafe { message.cast::<[usize; 6]>().read() };
        let to: *const c_void = ::std::ptr::with_exposed_provenance(to);
        // SAFETY: as above; the size is half a word.
        if let Some(to) = unsafe { address_at(to, size as c_uint) } {
            note_sender(socket, &to);
        }
        if control_size > 0 {
            // Files that are on their way may be closed there.
            make_one();
        }
    }
    // SAFETY: the caller's promise.
    let ask = || unsafe { system(system::SENDMSG, socket as usize, message.addr(), flags as usize, 0, 0, 0) };
    // Of what does not fit a part is sent, as `sendmsg(2)` may.
    answer_of(writes(socket, is_at_once(flags), 0, |_, _| ask())) as isize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inet(address: [u8; 4], port: u16) -> Address {
        let mut bytes = [0; 110];
        bytes[..2].copy_from_slice(&AF_INET.to_ne_bytes());
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        bytes[4..8].copy_from_slice(&address);
        (bytes, 16)
    }

    fn inet6(address: [u8; 16], port: u16) -> Address {
        let mut bytes = [0; 110];
        bytes[..2].copy_from_slice(&AF_INET6.to_ne_bytes());
        bytes[2..4].copy_from_slice(&port.to_be_bytes());
        bytes[8..24].copy_from_slice(&address);
        (bytes, 28)
    }

    fn unix(path: &[u8]) -> Address {
        let mut bytes = [0; 110];
        bytes[..2].copy_from_slice(&AF_UNIX.to_ne_bytes());
        bytes[2..2 + path.len()].copy_from_slice(path);
        (bytes, 2 + path.len() as u32)
    }

    #[test]
    fn addresses_lead_to_who_is_bound_there() {
        let loopback6 = ::std::net::Ipv6Addr::LOCALHOST.octets();
        let mapped = ::std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets();
        for (from, to, expected) in [
            (inet([127, 0, 0, 1], 80), inet([127, 0, 0, 1], 80), true),
            (inet([127, 0, 0, 1], 80), inet([0, 0, 0, 0], 80), true),
            (inet([127, 0, 0, 1], 80), inet([127, 0, 0, 1], 81), false),
            (inet([10, 0, 0, 1], 80), inet([0, 0, 0, 0], 80), false),
            (inet6(loopback6, 80), inet6([0; 16], 80), true),
            (inet6(mapped, 80), inet([127, 0, 0, 1], 80), true),
            (unix(b"/tmp/a"), unix(b"/tmp/a\0"), true),
            (unix(b"/tmp/a"), unix(b"/tmp/b"), false),
            (unix(b"\0a"), unix(b"\0a"), true),
            (unix(b"\0a"), unix(b"\0b"), false),
        ] {
            assert_eq!(leads_to(&from, &to), expected, "{from:?} {to:?}");
        }
    }
}
