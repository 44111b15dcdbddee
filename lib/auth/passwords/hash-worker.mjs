import { createCipheriv, pbkdf2Sync, scryptSync, timingSafeEqual } from "node:crypto";
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
parentPort.on("message", async ({ password, cost, hash }) => {
  parentPort.postMessage(hash === undefined ? bcrypt.hashSync(password, cost) : await compare(password, hash));
});

/** Whether a password matches a hash of our own, or one of `imported-hash.ts`, in its form there. */
async function compare(password, hash) {
  if (!hash.startsWith("{")) return bcrypt.compareSync(password, hash);
  const text = hash.slice(hash.indexOf("}") + 1);
  const [, algorithm, ...rest] = text.split("$");
  if (algorithm.startsWith("2")) return bcrypt.compareSync(password, `$${algorithm}$${rest[0]}$${rest[1]}${rest[2]}`);
  if (algorithm.startsWith("argon2")) {
    const { argon2Verify } = await import("hash-wasm");
    return argon2Verify({ password: Buffer.from(password), hash: text });
  }
  const parameters = Object.fromEntries(rest[0].split(",").map((parameter) => parameter.split("=")));
  const [salt, expected] = rest.slice(1).map((part) => Buffer.from(part, "base64"));
  return timingSafeEqual(derive(algorithm, password, parameters, salt, expected.length), expected);
}

function derive(algorithm, password, parameters, salt, length) {
  if (algorithm.startsWith("pbkdf2-")) {
    return pbkdf2Sync(password, salt, Number(parameters.i), length, algorithm.slice("pbkdf2-".length));
  }
  const [N, r, p] = [2 ** Number(parameters.ln), Number(parameters.r), Number(parameters.p)];
  const scrypt = (bytes) => scryptSync(password, salt, bytes, { N, r, p, maxmem: 256 * N * r + 1024 * r * p });
  return algorithm === "scrypt" ? scrypt(length) : encryptSigner(scrypt(32), Buffer.from(parameters.signer, "base64"));
}

/** Firebase's hash: its signer key, encrypted by a key that is derived from the password. */
function encryptSigner(key, signer) {
  return createCipheriv("aes-256-ctr", key, Buffer.alloc(16)).update(signer);
}
