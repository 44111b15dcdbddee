import { setPriority } from "node:os";
import { parentPort } from "node:worker_threads";
import bcrypt from "bcryptjs";

// On Linux, priority belongs to the thread: other requests run before password hashing. Elsewhere it belongs to the whole
// process, and is not changed.
if (process.platform === "linux") {
  try {
    setPriority(0, 10);
  } catch {
    // A sandbox may forbid the system call.
  }
}

// Runs one task at a time. An error ends the thread: the pool rejects the task and starts another thread.
parentPort.on("message", ({ password, cost, hash }) => {
  parentPort.postMessage(hash === undefined ? bcrypt.hashSync(password, cost) : compare(password, hash, cost));
});

/**
 * Makes a mismatch take as long as one at `cost`, also for a cheaper hash: 2^c + (2^c + … + 2^(cost-1)) = 2^cost. Otherwise
 * the time would reveal that an email has an account from before the cost was raised.
 */
function compare(password, hash, cost) {
  if (bcrypt.compareSync(password, hash)) return true;
  for (let rounds = bcrypt.getRounds(hash); rounds < cost; rounds++) bcrypt.hashSync(password, rounds);
  return false;
}
