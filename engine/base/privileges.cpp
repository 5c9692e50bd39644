#include "base/privileges.hpp"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace carillon {
namespace {

constexpr std::uint64_t bit(int capability) { return std::uint64_t{1} << capability; }

bool folder_is_ours() {
  struct stat folder {};
  return stat(".", &folder) == 0 && folder.st_uid == geteuid();
}

constexpr int kLoadPrograms = 39;  // CAP_BPF, of Linux 5.8

void keep_only(std::uint64_t kept) noexcept {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    if ((kept & bit(capability)) == 0) (void)prctl(PR_CAPBSET_DROP, capability);
  (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return;
  for (int half = 0; half < 2; ++half) {
    const auto mask = static_cast<std::uint32_t>(kept >> (32 * half));
    data[half].effective &= mask;
    data[half].permitted &= mask;
    data[half].inheritable = 0;
  }
  (void)syscall(SYS_capset, &header, data);
}

}  // namespace

void give_up_privileges() noexcept {
  std::uint64_t kept = bit(CAP_SYS_NICE) | bit(CAP_IPC_LOCK) | bit(CAP_NET_RAW) |
                       bit(CAP_NET_ADMIN) | bit(CAP_DAC_READ_SEARCH) | bit(kLoadPrograms);
  if (!folder_is_ours()) kept |= bit(CAP_DAC_OVERRIDE);
  keep_only(kept);
}

void give_up_programs() noexcept { keep_only(~bit(kLoadPrograms)); }

}  // namespace carillon
