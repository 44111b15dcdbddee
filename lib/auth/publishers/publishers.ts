import type { Context } from "../../context";
import { AppError } from "../../errors";
import { personOf, recordOperatorEvent } from "../../platform/audit/operator-events";
import { isLoopbackUrl } from "../../platform/config/values";
import type { Prisma, Publisher as Row } from "../../platform/db/generated/client";
import { isUuid, newId } from "../../platform/db/ids";
import { allAdminEmails } from "../../platform/find-account";
import { type PageQuery, readPage } from "../../platform/lists";
import type { Operator } from "../../principal";
import type { NewPublisher, Publisher, Publishers } from "./schema";

type Deps = Pick<Context, "config" | "db" | "now">;

/**
 * Adds a publisher, and queues an email about it to every admin. Adding the same one again returns it.
 * @throws AppError validation_failed for an issuer over plain http, unless the service itself is on this machine
 */
export async function addPublisher(
  { config, db, emails, now }: Deps & Pick<Context, "emails">,
  operator: Operator,
  given: NewPublisher,
): Promise<Publisher> {
  if (!isIssuerAllowed(config, given.issuer)) {
    const errors = [{ pointer: "/issuer", code: "invalid_value", detail: "Must be an https URL" }];
    throw new AppError("validation_failed", { errors });
  }
  const [id, at] = [newId(), now()];
  const { type, issuer, product, channel, ref } = given;
  const job =
    given.type === "oidc"
      ? { repository: null, workflow: null, environment: null, claims: given.claims }
      : { repository: given.repository, workflow: given.workflow, environment: given.environment, claims: {} };
  const data = { type, issuer, product, channel, ref, ...job };
  const row = await db.$transaction(async (tx) => {
    await tx.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended('publishers', 0))`;
    const existing = await tx.publisher.findFirst({ where: { ...data, claims: { equals: data.claims } } });
    if (existing) return existing;
    const details = { ...data } satisfies Prisma.InputJsonObject;
    await recordOperatorEvent(tx, at, operator, { type: "publisher_added", target: `publisher:${id}`, details });
    const added = await tx.publisher.create({ data: { id, createdAt: at, createdBy: personOf(operator), ...data } });
    const emailData = { publisherId: id, name: describe(added).name, product, ref: ref ?? "*" };
    for (const email of await allAdminEmails(config, tx)) await emails.enqueue(tx, "publisher_added", email, emailData);
    return added;
  });
  emails.wake();
  return describe(row);
}

/** Whether ID tokens of an issuer are accepted: plain http is for trying it on one machine. */
export function isIssuerAllowed({ baseUrl }: Pick<Context["config"], "baseUrl">, issuer: string): boolean {
  return issuer.startsWith("https://") || (isLoopbackUrl(baseUrl) && isLoopbackUrl(issuer));
}

/** A page of the publishers, newest first. @throws AppError invalid_query */
export async function listPublishers({ db }: Pick<Deps, "db">, page: PageQuery): Promise<Publishers> {
  const { entries, nextCursor } = await readPage("publishers", page, ({ after, take }) =>
    db.publisher.findMany({
      where: after !== null && isUuid(after) ? { id: { lt: after } } : {},
      orderBy: { id: "desc" },
      take,
    }),
  );
  return { publishers: entries.map(describe), nextCursor };
}

/** @throws AppError not_found */
export async function getPublisher({ db }: Pick<Deps, "db">, id: string): Promise<Publisher> {
  const row = await db.publisher.findUnique({ where: { id } });
  if (row === null) throw new AppError("not_found");
  return describe(row);
}

/** The publishers of a product, oldest first. */
export async function publishersOf({ db }: Pick<Deps, "db">, product: string): Promise<Publisher[]> {
  return (await db.publisher.findMany({ where: { product }, orderBy: { id: "asc" } })).map(describe);
}

/** Removes a publisher. Its access tokens stop working at once. @throws AppError not_found */
export async function removePublisher({ db, now }: Deps, operator: Operator, id: string): Promise<void> {
  await db.$transaction(async (tx) => {
    const row = await tx.publisher.findUnique({ where: { id } });
    const { count } = await tx.publisher.deleteMany({ where: { id } });
    if (row === null || count === 0) throw new AppError("not_found");
    const { name, product } = describe(row);
    const event = { type: "publisher_removed", target: `publisher:${id}`, details: { name, product } } as const;
    await recordOperatorEvent(tx, now(), operator, event);
  });
}

export function describe(row: Row): Publisher {
  const { type, claims, ...rest } = row;
  const typed = { type: type as Publisher["type"], claims: claims as Publisher["claims"] };
  return { ...rest, ...typed, name: row.repository ?? row.issuer };
}
