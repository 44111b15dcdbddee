import { createHash } from "node:crypto";
import type { Context } from "../../context";
import { AppError } from "../../errors";
import type { AnyDeclaration, RequestScope } from "../../operation";
import type { AnyPrincipal } from "../../principal";
import { readDatabaseTime } from "../db/clock";
import { newId } from "../db/ids";
import { seconds, sql } from "../db/sql";
import { RouteResponse, serializedResponse } from "../http-message";

const RETENTION_SECONDS = 24 * 60 * 60;
/** After a process was killed, the request can be repeated when its lease has ended. */
const LEASE_SECONDS = 60;
const RENEWAL_MS = 20_000;
const KEY = /^[!-~]{1,255}$/;

type Deps = Pick<Context, "db" | "dbNow">;
type Request = { id: string; fingerprint: string };

/**
 * Makes a change once for each Idempotency-Key of a caller and a URL (draft-ietf-httpapi-idempotency-key-header): a
 * repetition within 24 hours gets the first response. A change that fails may be tried again. One whose response cannot be
 * stored was made all the same, so that its caller gets the response. Without the header, it is made each time.
 * @throws AppError invalid_idempotency_key, idempotency_key_reused, idempotency_key_used, request_in_progress
 */
export async function withIdempotency(
  { idempotency }: Pick<AnyDeclaration, "idempotency">,
  scope: RequestScope,
  respond: () => Promise<RouteResponse>,
): Promise<RouteResponse> {
  const key = scope.request.headers.get("idempotency-key");
  if (key === null) return respond();
  if (!KEY.test(key)) throw new AppError("invalid_idempotency_key");
  const request = identify(scope, key);
  const claimed = await claim(scope.ctx, request);
  if ("status" in claimed) return replay(claimed);
  scope.changeId = claimed.changeId;
  const renewal = setInterval(() => void extend(scope.ctx, request).catch(() => {}), RENEWAL_MS).unref();
  try {
    const response = await respond().catch(async (error: unknown) => {
      await endLeases(scope.ctx, sql`"id" = ${request.id}`).catch(() => {}); // it ends by itself
      throw error;
    });
    const body = idempotency === "replay" ? String(response.body ?? "") : null;
    await complete(scope.ctx, request, response.status, body).catch((error: unknown) => {
      scope.ctx.log.warn({ err: error, requestId: scope.id }, "a response could not be stored for its Idempotency-Key");
    });
    return response;
  } finally {
    clearInterval(renewal);
  }
}

/**
 * Frees the keys of requests that a process left unfinished when it was killed. Only for a database that no other process
 * can have open: otherwise another one may still be working on them.
 */
export async function freeIdempotencyKeys(deps: Pick<Context, "db" | "dbNow" | "log">): Promise<void> {
  await endLeases(deps, sql`true`).catch((error: unknown) => {
    deps.log.warn({ err: error }, "the keys of unfinished requests could not be freed: they are free after a minute");
  });
}

/** Lets requests without a response be made again. What an attempt has created is not created again: it has their change's id. */
async function endLeases({ db, dbNow }: Deps, where: ReturnType<typeof sql>): Promise<void> {
  await db.$executeRaw`UPDATE "IdempotentRequest" SET "expiresAt" = ${dbNow()} WHERE "status" IS NULL AND ${where}`;
}

/** The caller is part of the id: nobody gets the response to another's request. */
function identify({ principal, request, bytes }: RequestScope, key: string): Request {
  const caller = principal === null ? "" : callerId(principal);
  const { pathname, search } = new URL(request.url, "http://localhost");
  const hash = (value: string | Uint8Array) => createHash("sha256").update(value).digest("hex");
  const content = Buffer.concat([Buffer.from(`${search}\n`), bytes]);
  return { id: hash(`${caller} ${request.method} ${pathname} ${key}`), fingerprint: hash(content) };
}

function callerId(principal: AnyPrincipal): string {
  if ("operator" in principal) return principal.operator;
  if ("publisher" in principal) return principal.publisher.id;
  return "key" in principal ? principal.key.id : principal.account.id;
}

type Stored = { status: number; body: string | null };

/** Claims a request for this process. Returns the stored response if there is one, otherwise the change's id. */
async function claim({ db, dbNow }: Deps, { id, fingerprint }: Request): Promise<Stored | { changeId: string }> {
  const [claimed] = await db.$queryRaw<{ changeId: string }[]>`
    INSERT INTO "IdempotentRequest" AS stored ("id", "fingerprint", "expiresAt", "changeId")
    VALUES (${id}, ${fingerprint}, ${dbNow()} + ${seconds(LEASE_SECONDS)}, ${newId()}::uuid)
    ON CONFLICT ("id") DO UPDATE SET
      "fingerprint" = EXCLUDED."fingerprint", "expiresAt" = EXCLUDED."expiresAt", "status" = NULL, "body" = NULL,
      "changeId" = CASE WHEN stored."status" IS NULL AND stored."fingerprint" = EXCLUDED."fingerprint"
        THEN coalesce(stored."changeId", EXCLUDED."changeId") ELSE EXCLUDED."changeId" END
    WHERE stored."expiresAt" <= ${dbNow()}
    RETURNING "changeId"::text`;
  if (claimed) return claimed;
  const stored = await db.idempotentRequest.findUnique({ where: { id } });
  if (stored && stored.fingerprint !== fingerprint) throw new AppError("idempotency_key_reused");
  if (stored?.status != null) return { status: stored.status, body: stored.body };
  const remainingMs = stored ? stored.expiresAt.getTime() - (await readDatabaseTime({ db, dbNow })).getTime() : 0;
  const retryAfterSeconds = Math.max(1, Math.ceil(remainingMs / 1000));
  const detail = `If its process has stopped, the request can be repeated in ${retryAfterSeconds} s.`;
  throw new AppError("request_in_progress", { detail, retryAfterSeconds });
}

function replay({ status, body }: Stored): RouteResponse {
  if (body === null) throw new AppError("idempotency_key_used");
  const replayed = { "Idempotency-Replayed": "true" };
  if (body === "") return new RouteResponse(status, null, replayed);
  return serializedResponse(status, body, replayed);
}

// One statement each with the database's clock in it: reading the clock first would be one more for every change.
async function complete({ db, dbNow }: Deps, { id }: Request, status: number, body: string | null): Promise<void> {
  await db.$executeRaw`
    UPDATE "IdempotentRequest" SET "status" = ${status}::smallint, "body" = ${body}::text,
      "expiresAt" = ${dbNow()} + ${seconds(RETENTION_SECONDS)}
    WHERE "id" = ${id}`;
}

async function extend({ db, dbNow }: Deps, { id }: Request): Promise<void> {
  await db.$executeRaw`
    UPDATE "IdempotentRequest" SET "expiresAt" = ${dbNow()} + ${seconds(LEASE_SECONDS)}
    WHERE "id" = ${id} AND "status" IS NULL`;
}
