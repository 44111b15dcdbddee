import { z } from "zod";
import { isLoopbackUrl } from "../../platform/config/values";
import { fieldMessage } from "../../platform/field-message";
import { NextCursor } from "../../platform/lists";
import { StorableText } from "../../platform/storable";
import { ProductName } from "../../principal";

const GITHUB_ISSUER = "https://token.actions.githubusercontent.com";
const GITLAB_ISSUER = "https://gitlab.com";
const MAX_CLAIMS = 10;

const text = StorableText.trim().min(1).max(256);

/** The `iss` of ID tokens: compared as text. Whether plain http is allowed depends on the service's own URL. */
const Issuer = z
  .string()
  .max(512)
  .refine(isIssuer, { error: "Must be an https URL without a query", abort: true })
  .describe("The issuer of its ID tokens.");

function isIssuer(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password, search, hash } = new URL(value);
  const isSafe = protocol === "https:" || (protocol === "http:" && isLoopbackUrl(value));
  return isSafe && !/[?#\s]/.test(value) && [username, password, search, hash].every((part) => part === "");
}

const SHARED = {
  product: ProductName.describe("The product whose releases it publishes."),
  channel: ProductName.nullable().default(null).describe("The only channel that it publishes on. null: every channel."),
  ref: text
    .regex(/^refs\/(heads|tags)\/[^\s\0]+$/, "Must begin with refs/heads/ or refs/tags/")
    .nullable()
    .default(null)
    .meta({
      description: "The Git refs that publish. `*` stands for any text without a slash. null: every branch and tag.",
      examples: ["refs/tags/v*"],
    }),
};

const environment = text.nullable().default(null).describe("The environment of its job. null: any, or none.");

/** A file of a workflow, or one that another repository shares, with the ref that it has there. */
const GITHUB_WORKFLOW =
  /^(?:[\w.-]+\.ya?ml|[\w.-]+\/[\w.-]+\/\.github\/workflows\/[\w.-]+\.ya?ml@refs\/(?:heads|tags)\/[^\s\0]+)$/;

const NewGithubPublisher = z.strictObject({
  type: z.literal("github"),
  repository: text.regex(/^[\w.-]+\/[\w.-]+$/, "Must be OWNER/REPO").meta({ examples: ["acme/app"] }),
  workflow: text
    .regex(GITHUB_WORKFLOW, "Must be a file such as release.yml, or OWNER/REPO/.github/workflows/FILE@REF")
    .meta({
      description:
        "The file in `.github/workflows`; of a reusable workflow `OWNER/REPO/.github/workflows/FILE@REF`, where `*` in REF stands for any text without a slash.",
      examples: ["release.yml"],
    }),
  environment,
  issuer: Issuer.default(GITHUB_ISSUER),
  ...SHARED,
});

const NewGitlabPublisher = z.strictObject({
  type: z.literal("gitlab"),
  repository: text
    .regex(/^[\w.-]+(?:\/[\w.-]+)+$/, "Must be GROUP/PROJECT")
    .describe("The path of the project, with its groups."),
  workflow: text
    .regex(/^[\w./-]+\.ya?ml$/, "Must be a file such as .gitlab-ci.yml")
    .default(".gitlab-ci.yml")
    .describe("The file that configures the pipeline, in the project itself."),
  environment,
  issuer: Issuer.default(GITLAB_ISSUER),
  ...SHARED,
});

const NewOidcPublisher = z.strictObject({
  type: z.literal("oidc"),
  issuer: Issuer.refine(
    (issuer) => ![GITHUB_ISSUER, GITLAB_ISSUER].some((known) => new URL(known).host === new URL(issuer).host),
    "Add a publisher of the type github or gitlab",
  ),
  claims: z
    .record(z.string().regex(/^[\w.:/-]{1,64}$/), text)
    .refine((claims) => Object.keys(claims).length > 0, "Must name at least one claim")
    .refine((claims) => Object.keys(claims).length <= MAX_CLAIMS, `Must name at most ${MAX_CLAIMS} claims`)
    .describe("The claims that an ID token must have, with exactly these values."),
  ...SHARED,
});

export const NewPublisher = z.discriminatedUnion("type", [NewGithubPublisher, NewGitlabPublisher, NewOidcPublisher]);
export type NewPublisher = z.infer<typeof NewPublisher>;

export const PublisherParams = z.object({ publisherId: z.uuid().toLowerCase() });

export const Publisher = z.object({
  id: z.uuid(),
  type: z.enum(["github", "gitlab", "oidc"]),
  name: z.string().describe("Its repository or, without one, its issuer."),
  issuer: z.string(),
  repository: z.string().nullable(),
  workflow: z.string().nullable(),
  environment: z.string().nullable(),
  ref: z.string().nullable(),
  claims: z.record(z.string(), z.string()).describe("Of the type `oidc`."),
  product: z.string(),
  channel: z.string().nullable(),
  repositoryId: z
    .string()
    .nullable()
    .describe("The id of its repository, as its first ID token said. Tokens with another one are refused."),
  ownerId: z.string().nullable().describe("The same of the repository's owner."),
  createdAt: z.date(),
  lastUsedAt: z.date().nullable(),
});
export type Publisher = z.infer<typeof Publisher>;

export const Publishers = z.object({ publishers: z.array(Publisher), nextCursor: NextCursor });
export type Publishers = z.infer<typeof Publishers>;

const optional = z.string().optional();

/** The fields of the console's form: as texts, and of each claim a line `name=value`. */
export const PublisherForm = z
  .object({
    type: Publisher.shape.type,
    issuer: optional,
    repository: optional,
    workflow: optional,
    environment: optional,
    claims: optional,
    ref: optional,
    product: optional,
    channel: optional,
  })
  .superRefine((fields, { addIssue }) => {
    const { error } = NewPublisher.safeParse(fromForm(fields), { error: fieldMessage });
    for (const { path, message } of error?.issues ?? []) addIssue({ code: "custom", path, message });
  });
export type PublisherForm = z.infer<typeof PublisherForm>;

/** The publisher that a form describes, not validated. */
export function fromForm({ claims, ...fields }: PublisherForm): object {
  if (claims === undefined) return fields;
  const lines = claims.split(/\r?\n/).filter((line) => line.trim() !== "");
  const pairs = lines
    .map((line) => line.split("="))
    .map(([name = "", ...value]) => [name.trim(), value.join("=").trim()]);
  return { ...fields, claims: Object.fromEntries(pairs) };
}
