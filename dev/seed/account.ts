import type { Random } from "./random";
import { DAY_MS, HOUR_MS, type Rows } from "./rows";

const namesIn = (text: string) => text.trim().split(/\s+/) as [string, ...string[]];
const FIRST_NAMES = namesIn(`
  Ada Alan Amélie Ananya Björn Carlos Chiara Dmitri Elif Emma Fatima Grace Hannah Haruto Ingrid James
  Jürgen Kwame Lena Lucía Mateo Mia Noah Nora Olga Omar Paul Priya Quinn Ravi Sofia Søren Tomás Yuki`);
const LAST_NAMES = namesIn(`
  Almeida Andersson Bauer Brown Chen Costa Dubois Eriksen Fischer García Haddad Hoffmann Ito Jansen Kaya
  Kowalski Lefèvre Müller Nakamura Novák Okafor Patel Rossi Schmidt Silva Smith Tanaka Virtanen Weber
  Yılmaz`);
const BROWSERS: [string, ...string[]] = [
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15",
  "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
];
const PHONES: [string, ...string[]] = ["iPhone15,2", "iPhone16,1", "iPhone17,3", "iPad14,8"];
/** Since the first account. */
export const ACCOUNT_DAYS = 1_000;
/** Accounts were last seen within so many days, most of them lately. */
export const SEEN_DAYS = 90;
/** Sessions end after so long without use. */
const SESSION_DAYS = 30;

export type SeedAccount = { id: string; createdAt: Date; deviceId: string };

/** Adds the rows of account number `n`: its profile, a sign-in, a session, a phone and its security events. */
export function addAccount(rows: Rows, random: Random, n: number, now: Date): SeedAccount {
  const createdAt = new Date(now.getTime() - random.next() * ACCOUNT_DAYS * DAY_MS);
  const id = random.id(createdAt);
  const [firstName, lastName] = [random.pick(FIRST_NAMES), random.pick(LAST_NAMES)];
  const local = `${firstName}.${lastName}`.normalize("NFD").replace(/[^A-Za-z.]/g, "");
  rows.add("Account", {
    id,
    email: `${local}.${n}@example.com`.toLowerCase(),
    emailVerifiedAt: createdAt,
    name: `${firstName} ${lastName}`,
    role: "user",
    disabledAt: random.chance(0.002) ? now : null,
    sessionEpoch: 0,
    locale: random.chance(0.3) ? "de" : "en",
    createdAt,
    updatedAt: createdAt,
  });
  const account = { id, createdAt, deviceId: random.id(createdAt) };
  addSignIn(rows, random, account, now);
  addPhone(rows, random, account, now);
  return account;
}

function addSignIn(rows: Rows, random: Random, { id: accountId, createdAt }: SeedAccount, now: Date): void {
  const seen = new Date(Math.max(createdAt.getTime(), now.getTime() - random.next() ** 3 * SEEN_DAYS * DAY_MS));
  const userAgent = random.pick(BROWSERS);
  const network = `198.51.${random.integer(256)}.0/24`;
  rows.add("Identity", {
    id: random.id(createdAt),
    accountId,
    provider: "google",
    issuer: "https://accounts.google.com",
    subject: accountId,
    createdAt,
  });
  rows.add("Session", {
    id: random.id(seen),
    accountId,
    transport: random.chance(0.5) ? "cookie" : "token",
    userAgent,
    createdAt: seen,
    authenticatedAt: seen,
    aal: 1,
    amr: ["fed"],
    lastSeenAt: seen,
    idleExpiresAt: new Date(seen.getTime() + SESSION_DAYS * DAY_MS),
    expiresAt: new Date(seen.getTime() + 3 * SESSION_DAYS * DAY_MS),
  });
  for (const [type, at] of [["registered", createdAt] as const, ["signed_in", seen] as const]) {
    rows.add("AuditEvent", { id: random.id(at), accountId, type, at, actor: "account", network, userAgent });
  }
}

function addPhone(rows: Rows, random: Random, { id, createdAt, deviceId }: SeedAccount, now: Date): void {
  const verifiedAt = new Date(Math.min(now.getTime(), createdAt.getTime() + HOUR_MS));
  const isActive = random.chance(0.9);
  rows.add("PushDevice", {
    id: deviceId,
    accountId: id,
    environment: "production",
    bundleId: "com.example.core",
    token: random.hex(64),
    status: isActive ? "active" : "invalid",
    invalidReason: isActive ? null : "Unregistered",
    model: random.pick(PHONES),
    osVersion: random.pick(["18.7", "26.0", "26.1"]),
    appVersion: random.pick(["1.0.0", "1.1.0", "1.1.0"]),
    locale: "en",
    createdAt,
    registeredAt: verifiedAt,
    verifiedAt,
    lastSeenAt: verifiedAt,
  });
}
