import { createHmac } from "node:crypto";
import { Secret } from "otpauth";
import { replaceRecoveryCodes } from "@/lib/auth/second-factor/recovery-codes";
import { newTotpSecret, totpPurpose } from "@/lib/auth/second-factor/totp";
import { encryptSecret } from "@/lib/platform/keys/stored-secrets";
import { newAccount, type TestAccount } from "@/tests/support/accounts";
import { post } from "@/tests/support/api";
import { clock, ctx } from "@/tests/support/context";

const STEP_MS = 30_000;

/** An authenticator app: RFC 6238 on the service's clock, written apart from the package that the service uses. */
export class Authenticator {
  private readonly key: Uint8Array;

  constructor(secret: string) {
    this.key = Secret.fromBase32(secret).bytes;
  }

  /** The code that the app shows, if its clock is ahead of the service's by `aheadMs`. */
  code(aheadMs = 0): string {
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(BigInt(Math.floor((clock.now().getTime() + aheadMs) / STEP_MS)));
    const hash = createHmac("sha1", this.key).update(counter).digest();
    const offset = hash.readUInt8(hash.length - 1) & 0x0f;
    return String((hash.readUInt32BE(offset) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
  }

  /** A code that the service has not seen yet. */
  nextCode(): string {
    clock.advance(STEP_MS);
    return this.code();
  }

  /** Six digits that are no code of now. */
  wrongCode(): string {
    const right = [-STEP_MS, 0, STEP_MS].map((ms) => this.code(ms));
    return ["000000", "111111", "222222", "333333"].find((code) => !right.includes(code)) ?? "";
  }
}

/** Moves the service's clock to the beginning of a time step. */
export function alignClock(): void {
  clock.advance(STEP_MS - (clock.now().getTime() % STEP_MS));
}

export type ProtectedAccount = TestAccount & { app: Authenticator; recoveryCodes: string[] };

/** An account with an authenticator app and recovery codes. */
export async function newProtectedAccount(): Promise<ProtectedAccount> {
  const account = await newAccount();
  return { ...account, ...(await addAuthenticator(account.id)) };
}

/** Gives an account an authenticator app and recovery codes. */
export async function addAuthenticator(accountId: string): Promise<{ app: Authenticator; recoveryCodes: string[] }> {
  const { db } = ctx();
  const plain = await newTotpSecret();
  const secret = await encryptSecret(ctx(), totpPurpose(accountId), plain);
  const now = clock.now();
  const factor = { accountId, sessionId: crypto.randomUUID(), secret, createdAt: now, confirmedAt: now };
  await db.totpFactor.create({ data: factor });
  return { app: new Authenticator(plain), recoveryCodes: await replaceRecoveryCodes(db, now, accountId) };
}

/** Signs in by the password. Returns the challenge for the second factor. */
export async function challengeOf({ email, password }: Pick<TestAccount, "email" | "password">): Promise<string> {
  const response = await post("/api/auth/login", { email, password });
  const { challenge } = (await response.json()) as { challenge?: string };
  if (response.status !== 401 || challenge === undefined) throw new Error(`login returned ${response.status}`);
  return challenge;
}

export const meet = (challenge: string, proof: object) => post("/api/auth/login/factor", { challenge, ...proof });
