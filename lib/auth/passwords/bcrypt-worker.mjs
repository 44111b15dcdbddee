import { setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import bcrypt from "bcryptjs";

// On Linux priority belongs to the thread: whoever waits for anything but a password goes first. Elsewhere it
// belongs to the whole process, and stays as it is.
if (process.platform === "linux") {
  try {
    setPriority(0, 10);
  } catch {
    // a sandbox's system call filter: passwords are checked all the same
  }
}

// One task at a time. What throws ends the thread: its pool rejects the task and starts another thread.
parentPort.on("message", ({ password, cost, hash }) => {
  parentPort.postMessage(hash === undefined ? bcrypt.hashSync(password, cost) : compare(password, hash, cost));
});

/**
 * A refusal takes as long as one at `cost`, even where the hash is cheaper: 2^c + (2^c + … + 2^(cost-1)) = 2^cost.
 * Else the accounts from before the cost was raised could be told from addresses that have none.
 */
function compare(password, hash, cost) {
  if (bcrypt.compareSync(password, hash)) return true;
  for (let rounds = bcrypt.getRounds(hash); rounds < cost; rounds++) bcrypt.hashSync(password, rounds);
  return false;
}
