//! Pipes between two sockets, lent while there are octets in them.
//!
//! A pipe costs two descriptors and pages of the kernel, and a connection that waits needs none: of many connections few
//! carry at any moment. Who finds no pipe copies instead.

use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

/// A pipe for splicing.
#[derive(Debug)]
pub struct Pipe {
    /// End to write to.
    pub input: OwnedFd,
    /// End to read from.
    pub output: OwnedFd,
}

/// The pipes of one thread.
#[derive(Debug)]
pub struct Pipes {
    free: Vec<Pipe>,
    made: usize,
    most: usize,
    size: usize,
}

impl Pipes {
    /// At most `most` pipes, each of `size` octets where the kernel allows.
    pub fn new(most: usize, size: usize) -> Self {
        Self { free: Vec::new(), made: 0, most, size }
    }

    /// An empty pipe; none if all are in use or no more can be had.
    pub fn borrow(&mut self) -> Option<Pipe> {
        self.free.pop().or_else(|| self.make())
    }

    /// Takes back a pipe with nothing in it.
    pub fn give_back(&mut self, pipe: Pipe) {
        self.free.push(pipe);
    }

    /// Takes back a pipe in which there may be something: it is closed.
    pub fn discard(&mut self, pipe: Pipe) {
        drop(pipe);
        self.made -= 1;
    }

    /// Octets that go into one at a time.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Pipes that are lent.
    pub fn lent(&self) -> usize {
        self.made - self.free.len()
    }

    fn make(&mut self) -> Option<Pipe> {
        if self.made >= self.most {
            return None;
        }
        let (output, input) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
        // A user's pipes may be of a page each once there are many: such a pipe still carries.
        let _ = fcntl_setpipe_size(&input, self.size);
        self.made += 1;
        Some(Pipe { input, output })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_allowed_and_those_again() {
        let mut pipes = Pipes::new(2, 65_536);
        let first = pipes.borrow().unwrap();
        let second = pipes.borrow().unwrap();
        assert!(pipes.borrow().is_none());
        pipes.give_back(first);
        pipes.discard(second);
        assert_eq!(pipes.lent(), 0);
        assert!(pipes.borrow().is_some() && pipes.made == 1);
    }
}
