import { allOperations, type Operation } from "./document";
import { INTROS } from "./pages";

/** The operations that one kind of client uses, on a page of their own. */
export type Group = { slug: string; title: string; intro: string; operations: Operation[] };

type Slug = (typeof INTROS)[number][0];

const BY_TAG: Record<string, Slug> = {
  OAuth: "desktop",
  Accounts: "web",
  Push: "ios",
  Billing: "billing",
  Sessions: "next-auth",
};

/** The groups in the order of the sidebar. */
export const GROUPS: readonly Group[] = INTROS.map(([slug, title, intro]) => ({
  slug,
  title,
  intro,
  operations: allOperations().filter((operation) => groupOf(operation) === slug),
}));

/** The group of an operation. Whatever is for nobody else is for operators. */
function groupOf({ path, tags: [tag] }: Operation): Slug {
  if (/^\/api\/subscription\/(status|purchases|token)$/.test(path)) return "web";
  if (path === "/.well-known/change-password" || path === "/.well-known/jwks.json") return "web";
  if (/^\/\.well-known\/(apple|assetlinks)/.test(path)) return "ios";
  if (/^\/\.well-known\/(passkey-endpoints|webauthn)$/.test(path)) return "factors";
  if (/^\/api\/(version|updates|download)(\/|$)/.test(path)) return "desktop";
  if (/^\/api\/auth\/(passkeys|factors)(\/|$)/.test(path)) return "factors";
  if (path.startsWith("/api/email/")) return "operators/mail";
  const subject = /^\/api\/admin\/(?:releases\/(?=rollouts))?(\w+)/.exec(path)?.[1];
  if (subject !== undefined) return INTROS.find(([slug]) => slug === `operators/${subject}`)?.[0] ?? "operators";
  return BY_TAG[tag] ?? "operators";
}

export function findGroup(slug: string): Group | undefined {
  return GROUPS.find((one) => one.slug === slug);
}

/** The URL of an operation in the reference. */
export function operationHref(operationId: string): string {
  const group = GROUPS.find(({ operations }) => operations.some((one) => one.operationId === operationId));
  return `/docs/${group?.slug ?? ""}#${operationId}`;
}
