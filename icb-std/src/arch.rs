//! `std::arch`. Modelled: on x86, inline assembly with a locked instruction or `mfence` in it is a `SeqCst` fence, which crates write so because it is faster (event-listener 5,
//! concurrent-queue 2). Not modelled: what assembly does to memory, intrinsics, and all of it on other processors.

pub use ::std::arch::*;

pub use crate::__icb_asm as asm;

/// Mirrors `std::arch::asm!`. What stands in it is looked through as text, when it is compiled.
#[doc(hidden)]
#[macro_export]
macro_rules! __icb_asm {
    ($($tokens:tt)*) => {{
        if const { $crate::__private::is_fence(::core::stringify!($($tokens)*)) } {
            $crate::__private::fence_by_assembly();
        }
        $crate::__private::std::arch::asm!($($tokens)*)
    }};
}

/// Whether some instruction of an assembly text is a full barrier.
#[must_use]
pub(crate) const fn is_fence(text: &str) -> bool {
    let text = text.as_bytes();
    let mut at = 0;
    while at < text.len() {
        if (at == 0 || !is_of_word(text[at - 1])) && begins_fence(text, at) {
            return cfg!(any(target_arch = "x86", target_arch = "x86_64"));
        }
        at += 1;
    }
    false
}

/// Whether the instruction `mfence`, or a prefix `lock` with the instruction after it, stands here. A variable of that name has something else after it.
const fn begins_fence(text: &[u8], at: usize) -> bool {
    if stands(text, at, b"mfence") {
        return at + 6 == text.len() || !is_of_word(text[at + 6]);
    }
    let mut after = at + 4;
    if !stands(text, at, b"lock") || after == text.len() || !matches!(text[after], b' ' | b';') {
        return false;
    }
    while after < text.len() && matches!(text[after], b' ' | b';') {
        after += 1;
    }
    after < text.len() && text[after].is_ascii_alphabetic()
}

/// Whether a word stands at some place of a text.
const fn stands(text: &[u8], at: usize, word: &[u8]) -> bool {
    let mut of_word = 0;
    while of_word < word.len() {
        if at + of_word >= text.len() || text[at + of_word] != word[of_word] {
            return false;
        }
        of_word += 1;
    }
    true
}

const fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(all(test, any(target_arch = "x86", target_arch = "x86_64")))]
mod tests {
    use super::is_fence;

    #[test]
    fn full_barriers_are_told_from_others() {
        for text in [
            "\"lock not qword ptr [{0}]\", in(reg) a.get(), options(nostack)",
            "concat!(\"lock not \", \"qword\", \" ptr [{x}]\"), x = in(reg) x",
            "\"nop\", \"lock; addl $0, (%rsp)\", options(att_syntax)",
            "\"mfence\"",
            "\"push rax; mfence; pop rax\"",
        ] {
            assert!(is_fence(text), "{text}");
        }
        for text in [
            "\"nop\"",
            "\"mov {}, 1\", out(reg) lock",
            "\"mov {lock}, 1\", lock = out(reg) x",
            "\"xor {0}, {0}\", in(reg) lock.get(), options(nostack)",
            "\"call unlock all\"",
            "\"call mfences\"",
            "\"lfence\"",
            "\"lock",
            "",
        ] {
            assert!(!is_fence(text), "{text}");
        }
    }
}
