import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip, createGzip } from "node:zlib";
import { BackupError, notFound } from "./format";

/** The first bytes of an age file (age-encryption.org/v1, "Header") and of a gzip file (RFC 1952, section 2.3.1). */
const AGE = Buffer.from("age-encryption.org/v1\n");
const GZIP = Buffer.from([0x1f, 0x8b]);

type Chunks = AsyncIterable<Uint8Array>;

/** Compresses, and encrypts for an age recipient if there is one. Compresses fast, because writes may be paused. */
export async function* encode(plain: AsyncIterable<Buffer>, recipient: string | undefined): Chunks {
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  const compressing = pipeline(Readable.from(plain), gzip);
  compressing.catch(() => {}); // reading gzip fails with the error
  if (recipient === undefined) yield* gzip;
  else yield* encrypt(gzip, [recipient]);
  await compressing;
}

/** Encrypts for age recipients. @throws Error for a text that is not one */
export async function* encrypt(plain: Readable, recipients: readonly string[]): Chunks {
  const encrypter = await encrypterFor(recipients);
  yield* fromWeb(await encrypter.encrypt(toWeb(plain)));
}

/**
 * Decrypts with age identities if the file is encrypted, and decompresses.
 * @throws BackupError file_not_found, backup_invalid, backup_damaged, identity_required, wrong_key
 */
export async function* decode(chunks: Chunks, identities: readonly string[]): AsyncIterable<Buffer> {
  const source = chunks[Symbol.asyncIterator]();
  const gunzip = createGunzip();
  try {
    const start = await readStart(source);
    const isEncrypted = start.subarray(0, AGE.length).equals(AGE);
    if (!isEncrypted && !start.subarray(0, GZIP.length).equals(GZIP)) {
      throw new BackupError("backup_invalid", "The file is not a backup of Homeport.");
    }
    const all = Readable.from(concat(start, source));
    const decompressing = pipeline(isEncrypted ? await decrypt(all, identities) : all, gunzip);
    decompressing.catch(() => {}); // reading gunzip fails with the error
    yield* gunzip;
    await decompressing;
  } catch (error) {
    if (error instanceof BackupError) throw error;
    throw new BackupError("backup_damaged", `The backup is truncated or damaged: ${(error as Error).message}.`, error);
  } finally {
    gunzip.destroy();
    await source.return?.();
  }
}

/** Decrypts an age file. @throws BackupError identity_required, wrong_key */
export async function decrypt(encrypted: Readable, identities: readonly string[]): Promise<Readable> {
  if (identities.length === 0) {
    throw new BackupError("identity_required", "The file is encrypted: give the file with its age key by --identity.");
  }
  const decrypter = new (await loadAge()).Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  try {
    return Readable.from(fromWeb(await decrypter.decrypt(toWeb(encrypted))));
  } catch (error) {
    if (!/no identity matched/.test((error as Error).message)) throw error;
    throw new BackupError("wrong_key", "The file is encrypted for another key.", error);
  }
}

/** The keys of an age identity file: a line each, and comments. @throws BackupError identity_invalid */
export async function parseIdentities(text: string): Promise<string[]> {
  const lines = text.split("\n").map((line) => line.trim());
  const keys = lines.filter((line) => line !== "" && !line.startsWith("#"));
  try {
    const decrypter = new (await loadAge()).Decrypter();
    for (const key of keys) decrypter.addIdentity(key);
  } catch (error) {
    throw new BackupError("identity_invalid", "The identity file has a line that is no key of age-keygen.", error);
  }
  if (keys.length === 0) throw new BackupError("identity_invalid", "The identity file has no key.");
  return keys;
}

/** @throws Error for a text that is not an age recipient */
async function encrypterFor(recipients: readonly string[]) {
  const encrypter = new (await loadAge()).Encrypter();
  for (const recipient of recipients) {
    try {
      encrypter.addRecipient(recipient);
    } catch (error) {
      throw new Error(`${recipient} is not a recipient of age-keygen`, { cause: error });
    }
  }
  return encrypter;
}

/** Loaded only if it is used: few processes encrypt. */
const loadAge = () => import("age-encryption");

/** Reads the bytes that tell what a file is, or more. @throws BackupError file_not_found */
async function readStart(source: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let start: Buffer = Buffer.alloc(0);
  while (start.length < AGE.length) {
    const { value, done } = await source.next().catch((error) => Promise.reject(notFound(error)));
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  return start;
}

async function* concat(start: Buffer, source: AsyncIterator<Uint8Array>): Chunks {
  yield start;
  for (let next = await source.next(); !next.done; next = await source.next()) yield next.value;
}

const toWeb = (stream: Readable) => Readable.toWeb(stream) as ReadableStream<Uint8Array>;

async function* fromWeb(stream: ReadableStream<Uint8Array>): Chunks {
  const reader = stream.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}
