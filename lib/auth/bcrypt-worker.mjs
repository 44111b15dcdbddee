import { parentPort } from "node:worker_threads";
import bcrypt from "bcryptjs";

// One task at a time. What throws ends the thread: its pool rejects the task and starts another thread.
parentPort.on("message", ({ password, cost, hash }) => {
  parentPort.postMessage(hash === undefined ? bcrypt.hashSync(password, cost) : bcrypt.compareSync(password, hash));
});
