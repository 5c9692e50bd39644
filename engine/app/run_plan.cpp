#include "app/run_plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "emulator/live_uplink.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/frame.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/policy.hpp"

namespace carillon::app {
namespace {

constexpr std::string_view kEveryAddress = "0.0.0.0";
constexpr std::uint16_t kFreePort = 0;          // the system chooses
constexpr std::uint32_t kFirstMulticast = 224;  // first octet; beyond are reserved ones, broadcast

void check_cores(const RuntimeOptions& runtime, std::vector<Problem>& problems) {
  const auto& cores = runtime.cores;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    const std::string key = "runtime.cores." + std::to_string(i);
    in_range(cores[i], 0, 4095, key, problems);
    const auto here = cores.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(cores.begin(), here, cores[i]) != here)
      problems.push_back({key, "is " + std::to_string(cores[i]) + " again; list each core once"});
  }
  if (!cores.empty() && runtime.workers > cores.size())
    problems.push_back({"runtime.workers",
                        "is " + std::to_string(runtime.workers) + " but runtime.cores lists only " +
                            std::to_string(cores.size()) + "; have no more workers than cores"});
}

void check_groups(const RuntimeOptions& runtime, std::vector<Problem>& problems) {
  // Other policies do not use the groups, yet are made with them.
  add_below(runtime.policy == "core-groups" ? frame::check_groups(runtime.groups, runtime.workers)
                                            : frame::check_group_sizes(runtime.groups),
            "runtime.groups", problems);
}

void check_gpus(const RunPlan& plan, std::vector<Problem>& problems) {
  const RuntimeOptions& runtime = plan.runtime;
  in_range(runtime.gpus, 0, 32, "runtime.gpus", problems);
  in_range(runtime.gpu_partitions, 1, 32, "runtime.gpu_partitions", problems);
  one_of(runtime.gpu_policy, runtime::pool_policy_names(), "runtime.gpu_policy", problems);
  if (runtime.gpu_partitions > 1 && runtime.gpus != 1)
    problems.push_back({"runtime.gpu_partitions", "is " + std::to_string(runtime.gpu_partitions) +
                                                      ", which needs runtime.gpus 1: one device is "
                                                      "divided, or several are used whole"});
  if (const std::uint32_t age = plan.cell.deadlines.precoder_age; runtime.gpus > 0 && age > 0)
    problems.push_back({"cell.deadlines.precoder_age",
                        "is " + std::to_string(age) +
                            ", but GPUs precode with their own frame's channel: it has to be 0 "
                            "with runtime.gpus"});
  if (const double quantile = plan.cell.deadlines.lead_quantile; runtime.gpus > 0 && quantile > 0)
    problems.push_back({"cell.deadlines.lead_quantile",
                        "is " + detail::number_text(quantile) +
                            ", but GPUs do not follow a lead that changes: it has to be 0 with "
                            "runtime.gpus"});
}

void check_runtime(const RuntimeOptions& runtime, std::vector<Problem>& problems) {
  in_range(runtime.workers, 0, 128, "runtime.workers", problems);
  check_cores(runtime, problems);
  check_groups(runtime, problems);
  one_of(runtime.policy, runtime::policy_names(), "runtime.policy", problems);
}

// Where packets are sent must be one machine; an end may still listen at every address.
void check_address(const std::string& key, const std::string& address, bool sent_to,
                   std::vector<Problem>& problems) {
  const bool many = std::strtoul(address.c_str(), nullptr, 10) >= kFirstMulticast;
  if (many || (sent_to && address == kEveryAddress))
    problems.push_back({key, "is " + address + " but must be one machine's address, such as " +
                                 "127.0.0.1 or 192.168.1.2: packets are sent there"});
}

void check_ports(const fronthaul::LinkOptions& link, std::vector<Problem>& problems) {
  if (const std::uint32_t most = 65536 - link.receivers; link.bbu_port > most)
    problems.push_back({"fronthaul.bbu_port", "is " + std::to_string(link.bbu_port) +
                                                  " but must be at most " + std::to_string(most) +
                                                  ", for a port for each receiver"});
  const bool same_address = link.bbu_address == link.radio_address ||
                            link.bbu_address == kEveryAddress ||
                            link.radio_address == kEveryAddress;
  const std::uint32_t first = link.bbu_port, last = first + link.receivers - 1;
  if (!same_address || first == kFreePort || link.radio_port < first || link.radio_port > last)
    return;
  const std::string ports =
      std::to_string(first) + (last == first ? "" : " to " + std::to_string(last));
  problems.push_back({"fronthaul.radio_port",
                      "is " + std::to_string(link.radio_port) + " but must not be " + ports +
                          ", where the baseband unit receives at the same address"});
}

void check_socket(const char* key, const std::string& name, std::vector<Problem>& problems) {
  if (name.size() > port::kLongestPath)
    problems.push_back({key, "is '" + name + "', " + std::to_string(name.size()) +
                                 " bytes long, but a socket's name has at most " +
                                 std::to_string(port::kLongestPath)});
}

void check_tun(const std::string& side, const std::string& tun, const std::string& socket,
               std::vector<Problem>& problems) {
  if (tun.empty()) return;
  if (tun.size() > port::kLongestDevice)
    problems.push_back(
        {"data." + side + "tun", "is '" + tun + "' but a network device's name has at most " +
                                     std::to_string(port::kLongestDevice) + " bytes"});
  if (!socket.empty())
    problems.push_back({"data." + side + "tun", "is '" + tun + "' beside data." + side +
                                                    "socket; leave one of them empty"});
}

void check_data(const port::DataOptions& data, std::vector<Problem>& problems) {
  check_socket("data.socket", data.socket, problems);
  check_socket("data.users_socket", data.users_socket, problems);
  if (!data.socket.empty() && data.socket == data.users_socket)
    problems.push_back({"data.users_socket", "is '" + data.users_socket +
                                                 "', as data.socket is; "
                                                 "give each side its own"});
  check_tun("", data.tun, data.socket, problems);
  check_tun("users_", data.users_tun, data.users_socket, problems);
  if (!data.tun.empty() && data.tun == data.users_tun)
    problems.push_back({"data.users_tun", "is '" + data.users_tun +
                                              "', as data.tun is; they are "
                                              "two devices"});
  if (!port::first_user(data.network))
    problems.push_back({"data.network", "is '" + data.network +
                                            "' but must be an IPv4 network of 256 addresses, such "
                                            "as 10.45.0.0"});
}

// Frames that a program schedules need a socket on either side.
void check_scheduled(const RunPlan& plan, std::vector<Problem>& problems) {
  if (plan.cell.grants.kind != frame::GrantKind::Port) return;
  const std::string why = ", but grants.kind is port: a program there says what each frame does; ";
  if (plan.data.socket.empty())
    problems.push_back({"data.socket", "is not given" + why + "name a socket for it"});
  if (plan.data.users_socket.empty())
    problems.push_back({"data.users_socket",
                        "is not given" + why + "name a socket at which the users hear it too"});
}

// A scheduler decides by queues of IP packets on both sides, and tells the users in this process.
void check_scheduler(const RunPlan& plan, std::vector<Problem>& problems) {
  if (plan.cell.grants.kind != frame::GrantKind::Scheduler) return;
  const std::string why =
      ", but grants.kind is scheduler, which serves IP packets of two TUN devices in one process; ";
  if (plan.data.tun.empty())
    problems.push_back({"data.tun", "is not given" + why + "name one, or use carillon demo --ip"});
  if (plan.data.users_tun.empty())
    problems.push_back(
        {"data.users_tun", "is not given" + why + "name one, or use carillon demo --ip"});
  if (plan.run.role != Role::Both)
    problems.push_back({"cell.grants.kind",
                        "is scheduler, but carillon run and carillon radio are two processes "
                        "without a control channel; use carillon demo --ip, or grants.kind port "
                        "and a program at both sockets"});
}

void check_programs(const RunPlan& plan, std::vector<Problem>& problems) {
  const frame::Frame frame(plan.cell);
  if (const auto why = frame.why_not_on_devices(); why && plan.runtime.gpus > 0)
    problems.push_back({"cell." + why->key, why->message + "; set runtime.gpus to 0"});
  const std::size_t frames = frame.programs().size();
  if (!plan.data.users_owned() && plan.radio.frames % frames != 0)
    problems.push_back({"radio.frames", "is " + std::to_string(plan.radio.frames) +
                                            " but must be a multiple of the " +
                                            std::to_string(frames) +
                                            " frames of grants.frames, which it replays"});
}

// Users that are live need frames of the radio unit that nobody reads any more.
void check_live(const RunPlan& plan, std::vector<Problem>& problems) {
  if (!plan.data.users_owned()) return;
  const std::uint32_t least = emulator::LiveUplink::replay_for(frame::Frame(plan.cell));
  if (plan.radio.frames >= least) return;
  problems.push_back({"radio.frames", "is " + std::to_string(plan.radio.frames) +
                                          " but must be at least " + std::to_string(least) +
                                          " where others own the users' bits: as many as are read "
                                          "at once, and 8"});
}

void check_run(const RunPlan& plan, std::vector<Problem>& problems) {
  in_range(plan.run.seconds, 0, 1e7, "run.seconds", problems);
  in_range(plan.run.record_frames, 1, 1 << 22, "run.record_frames", problems);
  const auto& link = plan.fronthaul;
  in_range(link.receivers, 1, 16, "fronthaul.receivers", problems);
  check_address("fronthaul.bbu_address", link.bbu_address, plan.run.role == Role::Radio, problems);
  check_address("fronthaul.radio_address", link.radio_address, plan.run.role == Role::Bbu,
                problems);
  check_ports(link, problems);
  check_data(plan.data, problems);
  check_scheduled(plan, problems);
  check_scheduler(plan, problems);
  if (!link.key_file.empty() && link.receive == fronthaul::ReceiveInto::Gpu)
    problems.push_back({"fronthaul.key_file",
                        "is '" + link.key_file +
                            "' but cannot be with fronthaul.receive gpu: cores, which check each "
                            "packet with its key, must not read what a card wrote into a GPU"});
}

std::uint64_t replay_bytes(const RunPlan& plan, const frame::Frame& frame) {
  std::uint64_t samples = 0;
  for (const auto& symbol : frame.symbols())
    if (symbol.kind == frame::SymbolKind::Pilot || symbol.kind == frame::SymbolKind::Uplink)
      samples += symbol.samples;
  return samples * 4 * plan.cell.antennas * plan.radio.frames;
}

void check_memory(const RunPlan& plan, std::vector<Problem>& problems) {
  const frame::Frame frame(plan.cell);
  const std::uint64_t ring = plan.run.role == Role::Radio ? 0 : frame::Pipeline::footprint(frame);
  const std::uint64_t replay = plan.run.role == Role::Bbu ? 0 : replay_bytes(plan, frame);
  const auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (ring + replay <= memory / 10 * 7) return;
  const std::string most = " MiB, and together no more than 70 % of this machine's " +
                           std::to_string(memory >> 20) + " MiB can be had; ";
  if (ring >= replay)
    problems.push_back({"cell.ring", "frames in flight need " + std::to_string(ring >> 20) + most +
                                         "lower ring or antennas, or raise combiner.group"});
  else
    problems.push_back({"radio.frames", "replayed frames need " + std::to_string(replay >> 20) +
                                            most + "replay fewer"});
}

void check_parts(const RunPlan& plan, std::vector<Problem>& problems) {
  add_below(plan.cell.validate(), "cell", problems);
  check_runtime(plan.runtime, problems);
  check_gpus(plan, problems);
  add_below(power::check(plan.power), "power", problems);
  check_run(plan, problems);
  if (!problems.empty()) return;
  const auto& n = plan.cell.numerology;
  const double prefix_ns = frame::prefix_samples(n, 1) / frame::sample_rate_hz(n) * 1e9;
  add_below(plan.radio.validate(plan.cell.users, prefix_ns, n.spacing_khz), "radio", problems);
  if (problems.empty()) check_programs(plan, problems);
  if (problems.empty()) check_live(plan, problems);
  if (problems.empty()) check_memory(plan, problems);
}

}  // namespace

RunPlan parse_run_plan(std::string_view text, std::vector<Problem>& problems) {
  RunPlan plan;
  KeyValues values = parse_key_values(text, problems);
  read_fields(plan, "", values, problems);
  for (const auto& [key, value] : values) problems.push_back({key, "is not a key of a run plan"});
  if (problems.empty()) check_parts(plan, problems);
  return plan;
}

std::string to_text(const RunPlan& plan) {
  std::string text;
  write_fields(plan, "", text);
  return text;
}

std::vector<Problem> check_files(const RunPlan& plan, const std::filesystem::path& folder) {
  const std::string& name = plan.run.telemetry;
  const std::filesystem::path file = folder / name;
  std::error_code unreadable;
  const auto within = std::filesystem::weakly_canonical(folder, unreadable);
  const auto parent = std::filesystem::weakly_canonical(file.parent_path(), unreadable);
  const auto left = std::mismatch(within.begin(), within.end(), parent.begin(), parent.end()).first;
  const bool names_file = file.has_filename() && file.filename() != "." && file.filename() != "..";
  if (!unreadable && names_file && left == within.end()) return {};
  return {{"run.telemetry",
           "is '" + name + "' but must name a file in the folder of the run, " + folder.string()}};
}

}  // namespace carillon::app
