//! The private pipe between ona and a confined command that is about to start: what was set up, and its descriptors.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use nix::libc;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, socketpair,
};

/// What the starting side says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Word {
    /// With the descriptor of the filter that asks.
    Watch = b'w',
    /// With a socket that listens for requests to the proxy.
    Http = b'h',
    /// With a socket that listens for connections to the user's SOCKS proxy.
    Socks = b's',
    /// All is set up: the command starts.
    Ready = b'r',
}

impl Word {
    fn of(byte: u8) -> Option<Self> {
        [Self::Watch, Self::Http, Self::Socks, Self::Ready]
            .into_iter()
            .find(|word| *word as u8 == byte)
    }
}

/// Both ends: ona's, and that of the starting side. Neither is inherited by itself.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SockFlag::SOCK_CLOEXEC;
    Ok(socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?)
}

/// What has come: `None` when the other side has closed its end.
pub(super) fn receive(pipe: BorrowedFd<'_>) -> io::Result<Option<(Word, Option<OwnedFd>)>> {
    let mut byte = [0];
    let mut space = nix::cmsg_space!(RawFd);
    let mut parts = [IoSliceMut::new(&mut byte)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(pipe.as_raw_fd(), &mut parts, Some(&mut space), flags)?;
    let mut fds = Vec::new();
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(all) = control {
            #[allow(unsafe_code, reason = "descriptors come as numbers")]
            // SAFETY: the kernel has just made these descriptors for this process.
            fds.extend(all.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    let count = message.bytes;
    Ok(match count {
        0 => None,
        _ => Word::of(byte[0]).map(|word| (word, fds.pop())),
    })
}

/// Says something, between fork and exec too: it allocates nothing.
#[allow(unsafe_code, reason = "the functions of libraries allocate")]
pub(super) fn send(pipe: RawFd, word: Word, fd: Option<RawFd>) -> io::Result<()> {
    #[repr(C, align(8))]
    struct Control([u8; 32]);
    let byte = [word as u8];
    let mut control = Control([0; 32]);
    let mut part = libc::iovec { iov_base: byte.as_ptr().cast_mut().cast(), iov_len: byte.len() };
    // SAFETY: a message of zeros is a valid empty one; the pointers lead to values that live until the call returns, and
    // the control part is larger than CMSG_SPACE of one descriptor.
    let sent = unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if let Some(fd) = fd {
            let size = size_of::<RawFd>() as u32;
            message.msg_control = (&raw mut control).cast();
            message.msg_controllen = libc::CMSG_SPACE(size) as _;
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(size) as _;
            libc::CMSG_DATA(head).cast::<RawFd>().write_unaligned(fd);
        }
        libc::sendmsg(pipe, &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read as _;
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn words_and_descriptors_arrive_and_the_end_is_seen() {
        let (ours, theirs) = pair().unwrap();
        let file = File::open("/proc/self/stat").unwrap();
        send(theirs.as_raw_fd(), Word::Watch, Some(file.as_raw_fd())).unwrap();
        send(theirs.as_raw_fd(), Word::Ready, None).unwrap();
        drop((theirs, file));
        let (word, fd) = receive(ours.as_fd()).unwrap().unwrap();
        let mut text = String::new();
        File::from(fd.unwrap()).read_to_string(&mut text).unwrap();
        assert_eq!((word, text.is_empty()), (Word::Watch, false));
        let (word, fd) = receive(ours.as_fd()).unwrap().unwrap();
        assert!(word == Word::Ready && fd.is_none());
        assert!(receive(ours.as_fd()).unwrap().is_none());
    }
}
