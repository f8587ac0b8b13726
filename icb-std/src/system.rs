//! System calls, for the C functions that this crate defines in place of the C library's: their numbers, which each processor
//! has its own of, how one is made, and how C functions give its result. Knows nothing of executions.

use ::std::ffi::{c_int, c_long};

pub(crate) use numbers::*;

#[cfg(target_arch = "x86_64")]
mod numbers {
    use super::c_long;

    pub(crate) const READ: c_long = 0;
    pub(crate) const WRITE: c_long = 1;
    pub(crate) const CLOSE: c_long = 3;
    pub(crate) const FSTAT: c_long = 5;
    pub(crate) const LSEEK: c_long = 8;
    pub(crate) const MPROTECT: c_long = 10;
    pub(crate) const MUNMAP: c_long = 11;
    pub(crate) const RT_SIGACTION: c_long = 13;
    pub(crate) const PREAD64: c_long = 17;
    pub(crate) const PWRITE64: c_long = 18;
    pub(crate) const READV: c_long = 19;
    pub(crate) const WRITEV: c_long = 20;
    pub(crate) const NANOSLEEP: c_long = 35;
    pub(crate) const SENDFILE: c_long = 40;
    pub(crate) const CONNECT: c_long = 42;
    pub(crate) const SENDTO: c_long = 44;
    pub(crate) const RECVFROM: c_long = 45;
    pub(crate) const SENDMSG: c_long = 46;
    pub(crate) const RECVMSG: c_long = 47;
    pub(crate) const SHUTDOWN: c_long = 48;
    pub(crate) const BIND: c_long = 49;
    pub(crate) const LISTEN: c_long = 50;
    pub(crate) const GETSOCKNAME: c_long = 51;
    pub(crate) const SOCKETPAIR: c_long = 53;
    pub(crate) const SETSOCKOPT: c_long = 54;
    pub(crate) const GETSOCKOPT: c_long = 55;
    pub(crate) const FCNTL: c_long = 72;
    pub(crate) const FLOCK: c_long = 73;
    pub(crate) const TRUNCATE: c_long = 76;
    pub(crate) const FTRUNCATE: c_long = 77;
    pub(crate) const FCHMOD: c_long = 91;
    pub(crate) const FCHOWN: c_long = 93;
    #[cfg(not(target_feature = "crt-static"))]
    pub(crate) const GETTID: c_long = 186;
    pub(crate) const FUTEX: c_long = 202;
    pub(crate) const CLOCK_NANOSLEEP: c_long = 230;
    #[cfg(not(target_feature = "crt-static"))]
    pub(crate) const EXIT_GROUP: c_long = 231;
    pub(crate) const EPOLL_CTL: c_long = 233;
    pub(crate) const OPENAT: c_long = 257;
    pub(crate) const MKDIRAT: c_long = 258;
    pub(crate) const FCHOWNAT: c_long = 260;
    pub(crate) const FSTATAT: c_long = 262;
    pub(crate) const UNLINKAT: c_long = 263;
    pub(crate) const LINKAT: c_long = 265;
    pub(crate) const SYMLINKAT: c_long = 266;
    pub(crate) const READLINKAT: c_long = 267;
    pub(crate) const FCHMODAT: c_long = 268;
    pub(crate) const FACCESSAT: c_long = 269;
    pub(crate) const PSELECT6: c_long = 270;
    pub(crate) const PPOLL: c_long = 271;
    pub(crate) const UTIMENSAT: c_long = 280;
    pub(crate) const EPOLL_PWAIT: c_long = 281;
    pub(crate) const TIMERFD_CREATE: c_long = 283;
    pub(crate) const FALLOCATE: c_long = 285;
    pub(crate) const ACCEPT4: c_long = 288;
    pub(crate) const EVENTFD2: c_long = 290;
    pub(crate) const EPOLL_CREATE1: c_long = 291;
    #[cfg(all(target_arch = "x86_64", target_env = "gnu", not(target_feature = "crt-static")))]
    pub(crate) const PIPE2: c_long = 293;
    pub(crate) const PREADV: c_long = 295;
    pub(crate) const PWRITEV: c_long = 296;
    pub(crate) const RENAMEAT2: c_long = 316;
    pub(crate) const GETRANDOM: c_long = 318;
    pub(crate) const MEMBARRIER: c_long = 324;
    pub(crate) const COPY_FILE_RANGE: c_long = 326;
    pub(crate) const STATX: c_long = 332;
}

#[cfg(target_arch = "aarch64")]
mod numbers {
    use super::c_long;

    pub(crate) const EVENTFD2: c_long = 19;
    pub(crate) const EPOLL_CREATE1: c_long = 20;
    pub(crate) const EPOLL_CTL: c_long = 21;
    pub(crate) const EPOLL_PWAIT: c_long = 22;
    pub(crate) const FCNTL: c_long = 25;
    pub(crate) const FLOCK: c_long = 32;
    pub(crate) const MKDIRAT: c_long = 34;
    pub(crate) const UNLINKAT: c_long = 35;
    pub(crate) const SYMLINKAT: c_long = 36;
    pub(crate) const LINKAT: c_long = 37;
    pub(crate) const TRUNCATE: c_long = 45;
    pub(crate) const FTRUNCATE: c_long = 46;
    pub(crate) const FALLOCATE: c_long = 47;
    pub(crate) const FACCESSAT: c_long = 48;
    pub(crate) const FCHMOD: c_long = 52;
    pub(crate) const FCHMODAT: c_long = 53;
    pub(crate) const FCHOWNAT: c_long = 54;
    pub(crate) const FCHOWN: c_long = 55;
    pub(crate) const OPENAT: c_long = 56;
    pub(crate) const CLOSE: c_long = 57;
    pub(crate) const LSEEK: c_long = 62;
    pub(crate) const READ: c_long = 63;
    pub(crate) const WRITE: c_long = 64;
    pub(crate) const READV: c_long = 65;
    pub(crate) const WRITEV: c_long = 66;
    pub(crate) const PREAD64: c_long = 67;
    pub(crate) const PWRITE64: c_long = 68;
    pub(crate) const PREADV: c_long = 69;
    pub(crate) const PWRITEV: c_long = 70;
    pub(crate) const SENDFILE: c_long = 71;
    pub(crate) const PSELECT6: c_long = 72;
    pub(crate) const PPOLL: c_long = 73;
    pub(crate) const READLINKAT: c_long = 78;
    pub(crate) const FSTATAT: c_long = 79;
    pub(crate) const FSTAT: c_long = 80;
    pub(crate) const TIMERFD_CREATE: c_long = 85;
    pub(crate) const UTIMENSAT: c_long = 88;
    #[cfg(not(target_feature = "crt-static"))]
    pub(crate) const EXIT_GROUP: c_long = 94;
    pub(crate) const FUTEX: c_long = 98;
    pub(crate) const NANOSLEEP: c_long = 101;
    pub(crate) const CLOCK_NANOSLEEP: c_long = 115;
    pub(crate) const RT_SIGACTION: c_long = 134;
    #[cfg(not(target_feature = "crt-static"))]
    pub(crate) const GETTID: c_long = 178;
    pub(crate) const SOCKETPAIR: c_long = 199;
    pub(crate) const BIND: c_long = 200;
    pub(crate) const LISTEN: c_long = 201;
    pub(crate) const CONNECT: c_long = 203;
    pub(crate) const GETSOCKNAME: c_long = 204;
    pub(crate) const SENDTO: c_long = 206;
    pub(crate) const RECVFROM: c_long = 207;
    pub(crate) const SETSOCKOPT: c_long = 208;
    pub(crate) const GETSOCKOPT: c_long = 209;
    pub(crate) const SHUTDOWN: c_long = 210;
    pub(crate) const SENDMSG: c_long = 211;
    pub(crate) const RECVMSG: c_long = 212;
    pub(crate) const MUNMAP: c_long = 215;
    pub(crate) const MPROTECT: c_long = 226;
    pub(crate) const ACCEPT4: c_long = 242;
    pub(crate) const RENAMEAT2: c_long = 276;
    pub(crate) const GETRANDOM: c_long = 278;
    pub(crate) const MEMBARRIER: c_long = 283;
    pub(crate) const COPY_FILE_RANGE: c_long = 285;
    pub(crate) const STATX: c_long = 291;
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

/// The result of a system call as C functions give it.
pub(crate) fn answer_of(result: c_long) -> c_long {
    if (-4095..0).contains(&result) { answer(Err(-result as c_int)) } else { result }
}

/// A result as C functions give it.
pub(crate) fn answer(result: Result<(), c_int>) -> c_long {
    let Err(error) = result else { return 0 };
    // SAFETY: the address of the calling thread's `errno`.
    unsafe { *__errno_location() = error };
    -1
}

/// The system call itself.
///
/// # Safety
/// As the system call.
pub(crate) unsafe fn system(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let result: c_long;
    // SAFETY: the registers are those of a system call on x86-64 Linux; what it does is the caller's affair.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        ::std::arch::asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a,
            in("rsi") b,
            in("rdx") c,
            in("r10") d,
            in("r8") e,
            in("r9") f,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    // SAFETY: as above, on AArch64 Linux, which keeps all other registers.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        ::std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a => result,
            in("x1") b,
            in("x2") c,
            in("x3") d,
            in("x4") e,
            in("x5") f,
            options(nostack)
        );
    }
    result
}
