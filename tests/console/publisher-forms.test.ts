import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { workflowOf } from "@/app/console/settings/publishers/[publisherId]/workflow";
import { NewPublisher, type Publisher } from "@/lib/auth/publishers/schema";
import { operatorWithRole } from "@/tests/support/console/operators";
import { ctx } from "@/tests/support/context";
import { flashOf, submit } from "@/tests/support/web/forms";

const PAGE = "/console/settings/publishers";
const GITHUB = { type: "github", repository: "acme/app", workflow: "release.yml", product: "core" };
const OIDC = { type: "oidc", issuer: "https://agent.buildkite.com", product: "core", claims: "pipeline_slug=release" };

let cookie: string;
beforeAll(async () => {
  ({ cookie } = await operatorWithRole("admin"));
});

const add = (fields: Record<string, string>, by = cookie) => submit("console/addPublisher", fields, { cookie: by });
const locationOf = (response: Response) => response.headers.get("location") ?? "";
const idIn = (response: Response) => /publishers\/([^?]+)\?done=added$/.exec(locationOf(response))?.[1] ?? "";

describe("the form that adds a publisher", () => {
  test.each([
    [
      { ...GITHUB, ref: "refs/tags/v*", environment: "release", channel: "stable" },
      { ref: "refs/tags/v*", environment: "release", channel: "stable", claims: {} },
    ],
    [
      { type: "gitlab", repository: "acme/apps/app", product: "core" },
      { workflow: ".gitlab-ci.yml", issuer: "https://gitlab.com", ref: null, channel: null },
    ],
    [
      { ...OIDC, claims: "pipeline_slug = release\r\n\r\nsub=organization:acme:ref=main\r\n" },
      { claims: { pipeline_slug: "release", sub: "organization:acme:ref=main" }, repository: null },
    ],
  ])("adds %j, and leads to the page with what to paste", async (fields, stored) => {
    const id = idIn(await add(fields));
    expect(await ctx().db.publisher.findUnique({ where: { id } })).toMatchObject(stored);
    const removed = await submit("console/removePublisher", { publisherId: id }, { cookie });
    expect(locationOf(removed)).toBe(`${PAGE}?done=removed`);
    expect(await ctx().db.publisher.findUnique({ where: { id } })).toBeNull();
  });

  test.each([
    [{ ...GITHUB, product: "" }, "product", "Required"],
    [{ ...GITHUB, repository: "acme" }, "repository", "Must be OWNER/REPO"],
    [{ ...GITHUB, ref: "v*" }, "ref", "Must begin with refs/heads/ or refs/tags/"],
    [{ ...GITHUB, issuer: "http://issuer.example.com" }, "issuer", "Must be an https URL"],
    [{ ...GITHUB, type: "bitbucket" }, "type", "Must be"],
    [{ ...OIDC, claims: "" }, "claims", "Required"],
    [{ ...OIDC, claims: "pipeline_slug" }, "claims", ""],
  ])("with %j names the field %s", async (fields, field, message) => {
    const flash = flashOf(await add(fields));
    expect(Object.keys(flash?.fields ?? {})).toEqual([field]);
    expect(flash?.fields[field]).toContain(message);
    expect(flash?.values).toEqual(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== "")));
  });

  test("is for admins", async () => {
    const support = await operatorWithRole("support");
    expect(flashOf(await add({ ...GITHUB, repository: "acme/other" }, support.cookie))?.message).toBe(
      "Your role does not allow this.",
    );
    expect(await ctx().db.publisher.count({ where: { repository: "acme/other" } })).toBe(0);
  });
});

/** A publisher with the fields of a request, as the page shows it. */
const publisher = (fields: object) => ({ claims: {}, ...NewPublisher.parse(fields) }) as unknown as Publisher;

const at = (baseUrl: string) => ({ baseUrl, INSTALL_PAGE: "on" }) as const;

describe("what the page shows to paste", () => {
  const guide = readFileSync("docs/guides/publishing.md", "utf8");
  const [github, gitlab] = [...guide.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text);

  test.each([
    [github, { ...GITHUB, ref: "refs/tags/v*" }],
    [gitlab, { type: "gitlab", repository: "acme/app", product: "core" }],
  ])("is what the guide has, without a secret", (text, fields) => {
    expect(workflowOf(publisher(fields), at("https://updates.example.com")).text).toBe(text);
    expect(text?.slice(text.indexOf("publish:")).trim().split("\n")).toHaveLength(7);
    expect(text).not.toMatch(/secret|HOMEPORT_API_KEY/i);
  });

  test("says on what, where and for which channel the publisher's jobs run", () => {
    const branch = { ref: "refs/heads/release/*", environment: 'a "release": #1', channel: "beta" };
    const pushed = parse(workflowOf(publisher({ ...GITHUB, ...branch }), at("https://x.example")).text);
    expect(pushed).toMatchObject({
      on: { push: { branches: ["release/*"] } },
      jobs: { publish: { environment: branch.environment, env: { HOMEPORT_URL: "https://x.example" } } },
    });
    expect(pushed.jobs.publish.steps.at(-1).run).toMatch(/--product core --channel beta$/);
    const reusable = { ...GITHUB, workflow: "acme/ci/.github/workflows/publish.yml@refs/tags/v1" };
    expect(parse(workflowOf(publisher(reusable), at("https://x.example")).text).on).toBe("workflow_call");
    const project = { type: "gitlab", repository: "acme/app", product: "core", ...branch };
    expect(parse(workflowOf(publisher(project), at("https://x.example")).text).publish).toMatchObject({
      rules: [{ if: "$CI_COMMIT_BRANCH" }],
      environment: branch.environment,
      id_tokens: { HOMEPORT_ID_TOKEN: { aud: "https://x.example" } },
    });
    const script = workflowOf(publisher({ ...OIDC, claims: { a: "b" } }), at("https://x.example")).text;
    expect(script).toContain("export HOMEPORT_ID_TOKEN=");
    const withoutTools = { baseUrl: "https://x.example", INSTALL_PAGE: "off" } as const;
    expect(workflowOf(publisher(project), withoutTools).text).toContain("- npx --yes ./homeport.tgz release");
  });
});
