// What a process that was started as root keeps of root's rights.
#pragma once

namespace carillon {

/// Gives up, for good and before any thread begins, every capability (capabilities(7)) that a run
/// has no use for. It keeps those for real-time priorities and CPUs, locked memory, raw packets of
/// a network card, larger socket buffers, programs in its receive path, and reading what the user
/// may read; and writing into the current folder, where that is somebody else's. Nothing can be
/// gained again. Without root there is next to nothing to give up.
void give_up_privileges() noexcept;
/// Those for programs in a card's receive path, too: for runs without AF_XDP.
void give_up_programs() noexcept;

}  // namespace carillon
