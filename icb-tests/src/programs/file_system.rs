//! The file system model of Flanagan and Godefroid, *Dynamic Partial-Order Reduction for Model Checking Software* (POPL
//! 2005, Figure 7), which Musuvathi and Qadeer use too (PLDI 2007, §4.1): threads create files, each of which gets an inode
//! and a block; every inode and every block has a lock.
//!
//! The original has 32 inodes and 26 blocks, and threads meet only if there are more than 13. Here there are fewer, so that
//! a few threads meet.

use icb_std::cell::UnsafeCell;
use icb_std::sync::{Arc, Mutex};
use icb_std::thread;

/// Which file system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// As described.
    Correct,
    /// A block is looked at before its lock is taken, and not again afterwards: it can be given to two files.
    LooksOutside,
}

/// A field that is protected by a lock of another name: access is checked for races.
struct Field<T>(UnsafeCell<T>);

// SAFETY: all accesses happen under the lock that belongs to the field, or are what the checker is to find; in a model one
// thread runs at a time.
unsafe impl<T: Send> Sync for Field<T> {}

impl<T: Copy> Field<T> {
    fn get(&self) -> T {
        // SAFETY: see `Sync`.
        self.0.with(|value| unsafe { *value })
    }

    fn set(&self, new: T) {
        // SAFETY: see `Sync`.
        self.0.with_mut(|value| unsafe { *value = new });
    }
}

struct FileSystem {
    version: Version,
    inode_locks: Vec<Mutex<()>>,
    /// The block of each inode, plus one.
    inodes: Vec<Field<usize>>,
    block_locks: Vec<Mutex<()>>,
    busy: Vec<Field<bool>>,
}

impl FileSystem {
    fn new(version: Version, inodes: usize, blocks: usize) -> Self {
        FileSystem {
            version,
            inode_locks: (0..inodes).map(|_| Mutex::new(())).collect(),
            inodes: (0..inodes).map(|_| Field(UnsafeCell::new(0))).collect(),
            block_locks: (0..blocks).map(|_| Mutex::new(())).collect(),
            busy: (0..blocks).map(|_| Field(UnsafeCell::new(false))).collect(),
        }
    }

    /// Figure 7, the code of one thread.
    fn create(&self, thread: usize) {
        let inode = thread % self.inodes.len();
        let _inode = self.inode_locks[inode].lock().unwrap();
        if self.inodes[inode].get() != 0 {
            return;
        }
        let mut block = (inode * 2) % self.busy.len();
        for _ in 0..self.busy.len() {
            let looked = self.version == Version::LooksOutside && !self.busy[block].get();
            let _block = self.block_locks[block].lock().unwrap();
            if looked || !self.busy[block].get() {
                self.busy[block].set(true);
                self.inodes[inode].set(block + 1);
                return;
            }
            block = (block + 1) % self.busy.len();
        }
    }
}

/// `threads` threads create a file each, with so many inodes and blocks; the caller looks at the result.
pub fn run(version: Version, threads: usize, inodes: usize, blocks: usize) {
    let system = Arc::new(FileSystem::new(version, inodes, blocks));
    let spawn = |number| {
        let system = system.clone();
        thread::spawn(move || system.create(number))
    };
    let threads: Vec<_> = (0..threads).map(spawn).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let mut used: Vec<usize> = system.inodes.iter().map(Field::get).filter(|&block| block != 0).collect();
    used.sort_unstable();
    let count = used.len();
    used.dedup();
    assert_eq!(used.len(), count, "a block belongs to two files");
}
