//! Files, as threads share them: this file defines the C functions by which programs open, look for, move, remove, read and write them (those that `std::fs` calls,
//! and some more). In an execution each tells first what is looked at or changed ([`surroundings`](crate::surroundings)): the directories, what a file contains,
//! or both. The files are the system's own, and stay as an execution leaves them, but for what is made in one that is stopped half-way ([`made_files`]).
//!
//! Modelled as one object: all directories, with who may do what. As one object each: regular files, with their positions. Not modelled: files that are mapped into memory, locks of parts of files
//! (`fcntl(2)`, which belong to processes), what other processes do, what does not come by these functions (inline assembly), and where the tool or
//! `std` look for the program's own code ([`is_of_no_matter`]), which they do while they hold locks that the model does not see.

use crate::door::{self, Which};
use crate::made_files;
use crate::status::Status;
use crate::surroundings::{about_to_use, contents, directories, environment};
use crate::system::{self, answer_of, system};
use ::std::ffi::{CStr, c_char, c_int, c_long, c_uint};
use ::std::os::unix::ffi::OsStrExt;
use ::std::sync::OnceLock;

pub(crate) const AT_FDCWD: c_int = -100;
const AT_SYMLINK_NOFOLLOW: c_int = 0x100;
pub(crate) const AT_REMOVEDIR: c_int = 0x200;
const O_CREAT: c_int = 0o100;
const O_TRUNC: c_int = 0o1000;
/// The last of the standard streams, which may go to files: `std` holds a lock of its own while it writes there.
const LAST_STANDARD: c_int = 2;

/// Whether nobody changes what has this path, and whoever looks for it may hold a lock that the model does not see: `std` and the tool look for code and its
/// sources there, to print a backtrace.
fn is_of_no_matter(path: *const c_char) -> bool {
    static OWN: OnceLock<Vec<u8>> = OnceLock::new();
    if path.is_null() {
        return true;
    }
    // SAFETY: the path of a C function.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    let beginnings = ["/proc/", "/sys/", "/usr/", "/lib", "/etc/", "/nix/store/"];
    if beginnings.iter().any(|beginning| path.starts_with(beginning.as_bytes())) {
        return true;
    }
    let own = door::noted_once(&OWN, || {
        let own = ::std::fs::read_link("/proc/self/exe").unwrap_or_default();
        own.parent().map_or_else(Vec::new, |directory| directory.as_os_str().as_bytes().to_vec())
    });
    path.strip_prefix(&own[..]).is_some_and(|rest| !own.is_empty() && rest.first() == Some(&b'/'))
}

/// The calling thread is about to look for what has this path in that directory, or to change that, and to look at the file there, or to change it (`Some(true)`).
fn path_used(at: c_int, path: Path, write: bool, flags: c_int, file: Option<bool>) {
    if !door::is_modelled() || is_of_no_matter(path) {
        return;
    }
    let file = file.and_then(|write| Some(contents(regular(&Status::at(at, path, flags)?)?, write)));
    // SAFETY: the path of a C function.
    let is_relative = at == AT_FDCWD && unsafe { *path } != b'/' as c_char;
    let names = directories(write);
    door::without_unwinding(|| match (file, is_relative) {
        (None, false) => about_to_use(&[names]),
        (None, true) => about_to_use(&[names, environment(false)]),
        (Some(file), false) => about_to_use(&[names, file]),
        (Some(file), true) => about_to_use(&[names, file, environment(false)]),
    });
}

/// The calling thread is about to look for what has this path, or to change that.
fn names(path: Path, write: bool) {
    path_used(AT_FDCWD, path, write, 0, None);
}

/// The same, and to look at the file there, or to change it.
fn status_of(at: c_int, path: Path, flags: c_int, write: bool) {
    path_used(at, path, false, flags, Some(write));
}

/// The calling thread is about to look into this open file, or to change it. Reading goes on from where one has been, and changes that.
pub(crate) fn look_into(file: c_int, write: bool) {
    if let Some(file) = file_of_model(file) {
        door::without_unwinding(|| about_to_use(&[contents(file, write)]));
    }
}

/// The calling thread is about to look at what is known of this open file, or to change it: where it is (how many names it has) and what it contains.
fn look_at(file: c_int, write: bool) {
    if let Some(file) = file_of_model(file) {
        door::without_unwinding(|| about_to_use(&[directories(write), contents(file, write)]));
    }
}

/// Which regular file of the execution's an open one is.
fn file_of_model(file: c_int) -> Option<Which> {
    if file > LAST_STANDARD && door::is_modelled() { regular(&Status::of(file)?) } else { None }
}

fn regular(status: &Status) -> Option<Which> {
    status.is_regular().then(|| status.identity())
}

/// Declares C functions that first tell what is done, and then do it by a system call, or are what another one is. Arguments and results are as wide as a register: what C declares as
/// narrower has no meaning beyond, and the system looks no further.
macro_rules! functions {
    ($(
        $name:ident($($argument:ident: $type:ty),*)
        $(tells $tell:expr, calls $number:ident($($value:expr),*))?
        $(is $does:ident($($given:expr),*))?;
    )*) => {
        $(
            #[doc = concat!("The C function `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As the C function.
            #[allow(
                unknown_lints,
                invalid_runtime_symbol_definitions,
                reason = "`open` has variable arguments in C, and no compiler before 1.98 knows of the lint"
            )]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) -> isize {
                $(
                    $tell;
                    // SAFETY: the caller's promise.
                    let result = unsafe { system_call(system::$number, &[$($value as usize),*]) };
                )?
                $(
                    // SAFETY: the caller's promise.
                    let result = unsafe { $does($($given),*) };
                )?
                answer_of(result) as isize
            }
        )*

        /// Keeps the functions in every program that is linked with this crate.
        #[used]
        static KEEP: Functions = Functions { $($name),* };

        #[expect(dead_code, reason = "what is kept is the functions, for C code")]
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) -> isize,)*
        }
    };
}

/// A system call with up to six arguments.
///
/// # Safety
/// As the system call.
#[inline]
unsafe fn system_call(number: c_long, arguments: &[usize]) -> c_long {
    let argument = |index: usize| arguments.get(index).copied().unwrap_or(0);
    // SAFETY: the caller's promise.
    unsafe { system(number, argument(0), argument(1), argument(2), argument(3), argument(4), argument(5)) }
}

pub(crate) type Path = *const c_char;

/// # Safety
/// As `openat(2)`.
unsafe fn open_in(at: c_int, path: Path, flags: c_int, mode: c_uint) -> c_long {
    path_used(at, path, flags & O_CREAT != 0, 0, (flags & O_TRUNC != 0).then_some(true));
    let may_make = flags & O_CREAT != 0 && door::is_modelled() && identity_at(at, path).is_none();
    // SAFETY: the caller's promise.
    let opened =
        unsafe { system(system::OPENAT, at as usize, path.addr(), flags as usize, mode as usize, 0, 0) };
    if may_make && opened >= 0 {
        made_files::note(at, path);
    }
    opened
}

/// # Safety
/// As `mkdirat(2)`.
unsafe fn make_directory_in(at: c_int, path: Path, mode: c_uint) -> c_long {
    path_used(at, path, true, 0, None);
    // SAFETY: the caller's promise.
    let made = unsafe { system(system::MKDIRAT, at as usize, path.addr(), mode as usize, 0, 0, 0) };
    if made == 0 && door::is_modelled() {
        made_files::note(at, path);
    }
    made
}

/// What has this path, whatever it is: no link is followed.
pub(crate) fn identity_at(at: c_int, path: Path) -> Option<Which> {
    Some(Status::at(at, path, AT_SYMLINK_NOFOLLOW)?.identity())
}

functions! {
    open(path: Path, flags: c_int, mode: c_uint) is open_in(AT_FDCWD, path, flags, mode);
    open64(path: Path, flags: c_int, mode: c_uint) is open_in(AT_FDCWD, path, flags, mode);
    openat(at: c_int, path: Path, flags: c_int, mode: c_uint) is open_in(at, path, flags, mode);
    openat64(at: c_int, path: Path, flags: c_int, mode: c_uint) is open_in(at, path, flags, mode);
    mkdir(path: Path, mode: c_uint) is make_directory_in(AT_FDCWD, path, mode);
    mkdirat(at: c_int, path: Path, mode: c_uint) is make_directory_in(at, path, mode);
    stat(path: Path, status: usize)
        tells status_of(AT_FDCWD, path, 0, false), calls FSTATAT(AT_FDCWD, path.addr(), status, 0);
    stat64(path: Path, status: usize)
        tells status_of(AT_FDCWD, path, 0, false), calls FSTATAT(AT_FDCWD, path.addr(), status, 0);
    lstat(path: Path, status: usize)
        tells status_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, false), calls FSTATAT(AT_FDCWD, path.addr(), status, AT_SYMLINK_NOFOLLOW);
    lstat64(path: Path, status: usize)
        tells status_of(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, false), calls FSTATAT(AT_FDCWD, path.addr(), status, AT_SYMLINK_NOFOLLOW);
    fstatat(at: c_int, path: Path, status: usize, flags: c_int)
        tells status_at(at, path, flags), calls FSTATAT(at, path.addr(), status, flags);
    fstatat64(at: c_int, path: Path, status: usize, flags: c_int)
        tells status_at(at, path, flags), calls FSTATAT(at, path.addr(), status, flags);
    statx(at: c_int, path: Path, flags: c_int, mask: c_uint, status: usize)
        tells status_at(at, path, flags), calls STATX(at, path.addr(), flags, mask, status);
    fstat(file: c_int, status: usize)
        tells look_at(file, false), calls FSTAT(file, status);
    fstat64(file: c_int, status: usize)
        tells look_at(file, false), calls FSTAT(file, status);
    access(path: Path, mode: c_int)
        tells names(path, false), calls FACCESSAT(AT_FDCWD, path.addr(), mode);
    readlink(path: Path, bytes: usize, size: usize)
        tells names(path, false), calls READLINKAT(AT_FDCWD, path.addr(), bytes, size);
    readlinkat(at: c_int, path: Path, bytes: usize, size: usize)
        tells path_used(at, path, false, 0, None), calls READLINKAT(at, path.addr(), bytes, size);
    rmdir(path: Path)
        tells names(path, true), calls UNLINKAT(AT_FDCWD, path.addr(), AT_REMOVEDIR);
    unlink(path: Path)
        tells names(path, true), calls UNLINKAT(AT_FDCWD, path.addr(), 0);
    unlinkat(at: c_int, path: Path, flags: c_int)
        tells path_used(at, path, true, 0, None), calls UNLINKAT(at, path.addr(), flags);
    rename(from: Path, to: Path)
        tells names(from, true), calls RENAMEAT2(AT_FDCWD, from.addr(), AT_FDCWD, to.addr(), 0);
    renameat(at: c_int, from: Path, to_at: c_int, to: Path)
        tells names(from, true), calls RENAMEAT2(at, from.addr(), to_at, to.addr(), 0);
    renameat2(at: c_int, from: Path, to_at: c_int, to: Path, flags: c_uint)
        tells names(from, true), calls RENAMEAT2(at, from.addr(), to_at, to.addr(), flags);
    link(from: Path, to: Path)
        tells names(from, true), calls LINKAT(AT_FDCWD, from.addr(), AT_FDCWD, to.addr(), 0);
    linkat(at: c_int, from: Path, to_at: c_int, to: Path, flags: c_int)
        tells names(to, true), calls LINKAT(at, from.addr(), to_at, to.addr(), flags);
    symlink(target: Path, path: Path)
        tells names(path, true), calls SYMLINKAT(target.addr(), AT_FDCWD, path.addr());
    symlinkat(target: Path, at: c_int, path: Path)
        tells names(path, true), calls SYMLINKAT(target.addr(), at, path.addr());
    chmod(path: Path, mode: c_uint)
        tells names(path, true), calls FCHMODAT(AT_FDCWD, path.addr(), mode);
    fchmod(file: c_int, mode: c_uint)
        tells look_at(file, true), calls FCHMOD(file, mode);
    chown(path: Path, user: c_uint, group: c_uint)
        tells names(path, true), calls FCHOWNAT(AT_FDCWD, path.addr(), user, group, 0);
    lchown(path: Path, user: c_uint, group: c_uint)
        tells names(path, true), calls FCHOWNAT(AT_FDCWD, path.addr(), user, group, AT_SYMLINK_NOFOLLOW);
    fchownat(at: c_int, path: Path, user: c_uint, group: c_uint, flags: c_int)
        tells path_used(at, path, true, 0, None), calls FCHOWNAT(at, path.addr(), user, group, flags);
    fchown(file: c_int, user: c_uint, group: c_uint)
        tells look_at(file, true), calls FCHOWN(file, user, group);
    futimens(file: c_int, times: usize)
        tells look_at(file, true), calls UTIMENSAT(file, 0, times, 0);
    utimensat(at: c_int, path: Path, times: usize, flags: c_int)
        tells path_used(at, path, true, 0, None), calls UTIMENSAT(at, path.addr(), times, flags);
    preadv(file: c_int, parts: usize, count: c_int, offset: isize)
        tells look_into(file, false), calls PREADV(file, parts, count, offset, 0);
    preadv64(file: c_int, parts: usize, count: c_int, offset: isize)
        tells look_into(file, false), calls PREADV(file, parts, count, offset, 0);
    pwritev(file: c_int, parts: usize, count: c_int, offset: isize)
        tells look_into(file, true), calls PWRITEV(file, parts, count, offset, 0);
    pwritev64(file: c_int, parts: usize, count: c_int, offset: isize)
        tells look_into(file, true), calls PWRITEV(file, parts, count, offset, 0);
    truncate(path: Path, size: isize)
        tells status_of(AT_FDCWD, path, 0, true), calls TRUNCATE(path.addr(), size);
    truncate64(path: Path, size: isize)
        tells status_of(AT_FDCWD, path, 0, true), calls TRUNCATE(path.addr(), size);
    ftruncate(file: c_int, size: isize)
        tells look_into(file, true), calls FTRUNCATE(file, size);
    ftruncate64(file: c_int, size: isize)
        tells look_into(file, true), calls FTRUNCATE(file, size);
    fallocate(file: c_int, mode: c_int, offset: isize, size: isize)
        tells look_into(file, true), calls FALLOCATE(file, mode, offset, size);
    fallocate64(file: c_int, mode: c_int, offset: isize, size: isize)
        tells look_into(file, true), calls FALLOCATE(file, mode, offset, size);
    lseek(file: c_int, offset: isize, whence: c_int)
        tells look_into(file, true), calls LSEEK(file, offset, whence);
    lseek64(file: c_int, offset: isize, whence: c_int)
        tells look_into(file, true), calls LSEEK(file, offset, whence);
    pread(file: c_int, bytes: usize, size: usize, offset: isize)
        tells look_into(file, false), calls PREAD64(file, bytes, size, offset);
    pread64(file: c_int, bytes: usize, size: usize, offset: isize)
        tells look_into(file, false), calls PREAD64(file, bytes, size, offset);
    pwrite(file: c_int, bytes: usize, size: usize, offset: isize)
        tells look_into(file, true), calls PWRITE64(file, bytes, size, offset);
    pwrite64(file: c_int, bytes: usize, size: usize, offset: isize)
        tells look_into(file, true), calls PWRITE64(file, bytes, size, offset);
    copy_file_range(from: c_int, from_offset: usize, to: c_int, to_offset: usize, size: usize, flags: c_uint)
        tells copies(from, to), calls COPY_FILE_RANGE(from, from_offset, to, to_offset, size, flags);
    sendfile(to: c_int, from: c_int, offset: usize, size: usize)
        tells copies(from, to), calls SENDFILE(to, from, offset, size);
    sendfile64(to: c_int, from: c_int, offset: usize, size: usize)
        tells copies(from, to), calls SENDFILE(to, from, offset, size);
}

/// A path that is empty stands for the open file.
fn status_at(at: c_int, path: Path, flags: c_int) {
    // SAFETY: the path of a C function, if there is one.
    if path.is_null() || unsafe { *path == 0 } {
        look_at(at, false);
    } else {
        status_of(at, path, flags & AT_SYMLINK_NOFOLLOW, false);
    }
}

fn copies(from: c_int, to: c_int) {
    let [from, to] = [from, to].map(|file| file_of_model(file).map(|file| contents(file, true)));
    door::without_unwinding(|| match (from, to) {
        (Some(from), Some(to)) => about_to_use(&[from, to]),
        (Some(one), None) | (None, Some(one)) => about_to_use(&[one]),
        (None, None) => {}
    });
}

/// The functions that the C library alone can do, as what is in a directory is in its memory.
#[cfg(all(target_env = "gnu", not(target_feature = "crt-static")))]
mod of_the_library {
    use super::{Path, about_to_use, directories, door, names};
    use crate::c_library::Real;
    use ::std::ffi::c_void;
    use ::std::mem::transmute;
    use ::std::ptr::null_mut;

    /// Declares functions with up to two arguments that give a pointer.
    macro_rules! functions {
        ($($name:ident = $c_name:literal ($first:ident, $second:ident) tells $tell:expr;)*) => {
            $(
                #[doc = concat!("The C function `", stringify!($name), "`.")]
                ///
                /// # Safety
                /// As the C function.
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $name($first: *mut c_void, $second: *mut c_void) -> *mut c_void {
                    static REAL: Real = Real::new($c_name);
                    let Some(real) = REAL.get() else { return null_mut() };
                    $tell;
                    // SAFETY: the C library's function of this name, which looks at no more arguments than it has; the caller's promise.
                    unsafe {
                        transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void>(real)($first, $second)
                    }
                }
            )*

            #[used]
            static KEEP: [unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void; 5] = [$($name),*];
        };
    }

    functions! {
        opendir = c"opendir" (path, none) tells names(path as Path, false);
        readdir = c"readdir" (directory, none) tells look();
        readdir64 = c"readdir64" (directory, none) tells look();
        fdopendir = c"fdopendir" (file, none) tells look();
        realpath = c"realpath" (path, resolved) tells names(path as Path, false);
    }

    fn look() {
        if door::is_modelled() {
            door::without_unwinding(|| about_to_use(&[directories(false)]));
        }
    }
}
