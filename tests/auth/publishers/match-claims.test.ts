import { describe, expect, test } from "vitest";
import { findDifferences, idsOf, sourceOf } from "@/lib/auth/publishers/match-claims";
import type { Publisher } from "@/lib/auth/publishers/schema";
import { GITHUB_CLAIMS, gitlabClaims } from "@/tests/support/auth/ci-issuer";

type Claims = Record<string, unknown>;

/** The publisher of acme/app at GitHub, before its first token. */
const APP: Publisher = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b21",
  type: "github",
  name: "acme/app",
  issuer: "https://token.actions.githubusercontent.com",
  repository: "acme/app",
  workflow: "release.yml",
  environment: null,
  ref: null,
  claims: {},
  product: "core",
  channel: null,
  repositoryId: null,
  ownerId: null,
  createdAt: new Date(0),
  lastUsedAt: null,
};
const AT_GITLAB = {
  type: "gitlab",
  issuer: "https://gitlab.example.com",
  repository: "acme/apps/app",
  workflow: ".gitlab-ci.yml",
} as const;
/** Of an issuer that knows no repositories. */
const ELSEWHERE = { type: "oidc", repository: null, workflow: null } as const;

/** The names of the claims that differ. */
const differing = (claims: Claims, change: Partial<Publisher> = {}) =>
  findDifferences({ ...APP, ...change }, claims).map(({ claim }) => claim);
const github = (claims: Claims, change?: Partial<Publisher>) => differing({ ...GITHUB_CLAIMS, ...claims }, change);
const gitlab = (claims: Claims, change?: Partial<Publisher>) =>
  differing({ ...gitlabClaims("gitlab.example.com"), ...claims }, { ...AT_GITLAB, ...change });

const OWN = "acme/app/.github/workflows";
const REUSABLE = "acme/ci/.github/workflows/publish.yml";
/** The file that the job's part of the workflow is in, and the one that was started. */
const workflow = (path: string) => ({ job_workflow_ref: path, workflow_ref: path });
const at = (ref: string) => ({ ref, ...workflow(`${OWN}/release.yml@${ref}`) });

describe("an ID token is its publisher's", () => {
  test.each<[string, Claims, Partial<Publisher>]>([
    ["from any tag", {}, {}],
    ["from any branch", at("refs/heads/main"), {}],
    ["from the tag that is named", {}, { ref: "refs/tags/v1.2.0" }],
    ["from a tag of the pattern", {}, { ref: "refs/tags/v*" }],
    ["from a tag that ends as the pattern", {}, { ref: "refs/tags/*.0" }],
    ["from a tag of a pattern with several stars", {}, { ref: "refs/tags/*1*2.*" }],
    ["from a tag with nothing in place of a star", {}, { ref: "refs/tags/v1.*2.0*" }],
    [
      "of a reusable workflow",
      { job_workflow_ref: `${REUSABLE}@refs/tags/v3` },
      { workflow: `${REUSABLE}@refs/tags/v*` },
    ],
    ["of a job that does not say which workflow was started", { workflow_ref: undefined }, {}],
    ["of a job that does not say which workflow it is in", { job_workflow_ref: undefined }, {}],
    ["of the workflow at a commit", { job_workflow_ref: `${OWN}/release.yml@${GITHUB_CLAIMS.sha}` }, {}],
    ["from the environment", { environment: "release" }, { environment: "release" }],
    ["from an environment that the publisher does not name", { environment: "release" }, {}],
    ["with the ids of the first one", {}, { repositoryId: "74", ownerId: "65" }],
    ["from a job that was started by hand", { event_name: "workflow_dispatch" }, {}],
  ])("at GitHub: %s", (_, claims, publisher) => expect(github(claims, publisher)).toEqual([]));

  test("at GitLab, also at one below a path", () => {
    expect(gitlab({})).toEqual([]);
    const uri = "host.example/gitlab/acme/apps/app//.gitlab-ci.yml@refs/tags/v1.2.0";
    expect(gitlab({ ci_config_ref_uri: uri }, { issuer: "https://host.example/gitlab" })).toEqual([]);
  });

  test("at another issuer with the claims that are named, without a repository, ids or a ref", () => {
    const claims = { organization: "acme", verified: "true", level: "2" };
    expect(differing({ organization: "acme", verified: true, level: 2 }, { ...ELSEWHERE, claims })).toEqual([]);
  });
});

describe("an ID token is not its publisher's", () => {
  test.each<[string, Claims, string[], Partial<Publisher>?]>([
    ["of a repository in other letters", { repository: "ACME/app" }, ["repository"]],
    ["of repositories in a list", { repository: ["acme/app"] }, ["repository"]],
    ["without the repository's id", { repository_id: undefined }, ["repository_id"]],
    ["without the owner's id", { repository_owner_id: undefined }, ["repository_owner_id"]],
    ["of a repository that took over the name", { repository_id: "99" }, ["repository_id"], { repositoryId: "74" }],
    ["of an owner who took over the name", { repository_owner_id: "99" }, ["repository_owner_id"], { ownerId: "65" }],
    ["of another workflow", workflow(`${OWN}/test.yml@refs/tags/v1.2.0`), ["job_workflow_ref"]],
    ["of no workflow", { job_workflow_ref: undefined, workflow_ref: undefined }, ["job_workflow_ref"]],
    ["of a workflow that is null", { job_workflow_ref: null }, ["job_workflow_ref"]],
    [
      "of a workflow of the same name in another folder",
      workflow(`${OWN}/old/release.yml@refs/tags/v1.2.0`),
      ["job_workflow_ref"],
    ],
    [
      "of a workflow of the same name in another repository",
      { job_workflow_ref: "mallory/app/.github/workflows/release.yml@refs/tags/v1.2.0" },
      ["job_workflow_ref"],
    ],
    ["of the workflow at another ref", { job_workflow_ref: `${OWN}/release.yml@refs/heads/old` }, ["job_workflow_ref"]],
    [
      "of a workflow that calls the publisher's",
      { workflow_ref: `${OWN}/test.yml@refs/tags/v1.2.0` },
      ["workflow_ref"],
    ],
    [
      "of a reusable workflow at another ref",
      { job_workflow_ref: `${REUSABLE}@refs/heads/x` },
      ["job_workflow_ref"],
      { workflow: `${REUSABLE}@refs/tags/v*` },
    ],
    [
      "of no reusable workflow",
      { job_workflow_ref: undefined },
      ["job_workflow_ref"],
      { workflow: `${REUSABLE}@refs/tags/v*` },
    ],
    ["without the environment", {}, ["environment"], { environment: "release" }],
    ["of an environment in other letters", { environment: "Release" }, ["environment"], { environment: "release" }],
    ["of no ref", { ref: undefined, ...workflow(`${OWN}/release.yml@${GITHUB_CLAIMS.sha}`) }, ["ref"]],
    ["of a pull request's ref", at("refs/pull/7/merge"), ["ref"]],
    ["of a ref that only contains a branch's", at("refs/x/refs/heads/main"), ["ref"]],
    ["of a pull request's target", { event_name: "pull_request_target" }, ["event_name"]],
    ["of a workflow that a run has started", { event_name: "workflow_run" }, ["event_name"]],
    ["of a queue of merges", { event_name: "merge_group" }, ["event_name"]],
    ["with the branch of a pull request", { head_ref: "patch-1" }, ["head_ref"]],
    ["with the target of a pull request", { base_ref: "main" }, ["base_ref"]],
  ])("at GitHub: %s", (_, claims, expected, publisher) => expect(github(claims, publisher)).toEqual(expected));

  test.each([
    ["refs/tags/release-*"],
    ["refs/tags/*-beta"],
    ["refs/tags/v1.2"],
    ["refs/tags/*/x"],
    ["refs/*"],
    ["refs/heads/v*"],
    ["refs/tags/*2*1*"], // in another order
    ["refs/tags/v1.2*2.0"], // one part twice
    ["refs/tags/*2*2*"],
    ["refs/tags/*2.0*0"],
  ])("of a tag that %s is no pattern for", (ref) => expect(github({}, { ref })).toEqual(["ref"]));

  test.each<[string, Claims, string[]]>([
    ["a fork's", { project_path: "mallory/app" }, ["project_path"]],
    ["a merge request's", { pipeline_source: "merge_request_event" }, ["pipeline_source"]],
    ["an external pull request's", { pipeline_source: "external_pull_request_event" }, ["pipeline_source"]],
    ["a merge request's ref", { ref_path: "refs/merge-requests/7/head" }, ["ci_config_ref_uri", "ref_path"]],
    ["one whose pipeline is configured elsewhere", { ci_config_ref_uri: null }, ["ci_config_ref_uri"]],
    [
      "one of another file",
      { ci_config_ref_uri: "gitlab.example.com/acme/apps/app//ci/.gitlab-ci.yml@refs/tags/v1.2.0" },
      ["ci_config_ref_uri"],
    ],
    ["one of a group that was renamed and taken", { namespace_id: undefined }, ["namespace_id"]],
    ["one of a project that was removed", { project_id: undefined }, ["project_id"]],
  ])("at GitLab: %s", (_, claims, expected) => expect(gitlab(claims)).toEqual(expected));

  test.each<[string, unknown]>([
    ["another value", "mallory"],
    ["no value", undefined],
    ["a list", ["acme"]],
    ["an object", { acme: 1 }],
  ])("of another issuer, whose claim has %s", (_, organization) => {
    expect(differing({ organization }, { ...ELSEWHERE, claims: { organization: "acme" } })).toEqual(["organization"]);
  });

  test("and a refusal says what was expected, and what the token says instead", () => {
    const [difference] = findDifferences(APP, { ...GITHUB_CLAIMS, event_name: "pull_request" });
    expect(difference).toEqual({ claim: "event_name", expected: "no pull request", actual: "pull_request" });
    expect(findDifferences(APP, { ...GITHUB_CLAIMS, repository_id: undefined })).toEqual([
      { claim: "repository_id", expected: "an id", actual: null },
    ]);
    expect(findDifferences(APP, { ...GITHUB_CLAIMS, ...at("refs/pull/7/merge") })).toEqual([
      { claim: "ref", expected: "a branch or a tag", actual: "refs/pull/7/merge" },
    ]);
    const claims = { toString: "[object Object]" };
    expect(findDifferences({ ...APP, ...ELSEWHERE, claims }, {})).toEqual([
      { claim: "toString", expected: "[object Object]", actual: null },
    ]);
  });
});

test("the first token's ids are those of the repository and its owner", () => {
  expect(idsOf(APP, GITHUB_CLAIMS)).toEqual({ repositoryId: "74", ownerId: "65" });
  expect(idsOf({ ...APP, ...AT_GITLAB }, gitlabClaims("gitlab.example.com"))).toEqual({
    repositoryId: "20",
    ownerId: "72",
  });
});

describe("the build that a job publishes", () => {
  const source = (claims: Claims, change: Partial<Publisher> = {}) =>
    sourceOf({ ...APP, ...change }, { ...GITHUB_CLAIMS, ...claims });

  test("is its commit in its repository, with the page of its run", () => {
    expect(source({})).toEqual({
      repository: "acme/app",
      commit: GITHUB_CLAIMS.sha,
      ref: "refs/tags/v1.2.0",
      runUrl: "https://github.com/acme/app/actions/runs/4711",
    });
    expect(sourceOf({ ...APP, ...AT_GITLAB }, gitlabClaims("gitlab.example.com"))).toEqual({
      repository: "acme/apps/app",
      commit: GITHUB_CLAIMS.sha,
      ref: "refs/tags/v1.2.0",
      runUrl: "https://gitlab.example.com/acme/apps/app/-/jobs/302",
    });
  });

  test("is that of the run at GitHub, whatever job it names", () => {
    expect(source({ job_id: "302" })?.runUrl).toBe("https://github.com/acme/app/actions/runs/4711");
  });

  test.each([
    ["https://token.actions.acme.ghe.com", "https://acme.ghe.com/acme/app/actions/runs/4711"],
    ["https://ghes.example.com/_services/token", "https://ghes.example.com/acme/app/actions/runs/4711"],
  ])("has its run at GitHub's own server for %s", (issuer, runUrl) =>
    expect(source({}, { issuer })?.runUrl).toBe(runUrl),
  );

  test.each<[string, Claims, Partial<Publisher>?]>([
    ["the number of the run is none", { run_id: "4711/../../x" }],
    ["the number of the run begins with none", { run_id: "x1" }],
    ["the repository begins with no path", { repository: "x?/acme/app" }],
    ["there is no run", { run_id: undefined }],
    ["the repository is no path", { repository: "acme/app?x" }],
    ["the repository has no owner", { repository: "app" }],
    ["the issuer is neither GitHub nor GitLab", {}, { type: "oidc" }],
    ["the job at GitLab has no number", { project_path: "acme/app", ref_path: "refs/tags/v1" }, AT_GITLAB],
    ["the project at GitLab is no path", { project_path: "app", ref_path: "refs/tags/v1", job_id: "1" }, AT_GITLAB],
    [
      "the number of the job at GitLab begins with none",
      { project_path: "acme/app", ref_path: "refs/tags/v1", job_id: "x1" },
      AT_GITLAB,
    ],
    [
      "the number of the job at GitLab is none",
      { project_path: "acme/app", ref_path: "refs/tags/v1", job_id: "1/x" },
      AT_GITLAB,
    ],
  ])("has no page where %s", (_, claims, publisher) =>
    expect(source(claims, publisher)).toMatchObject({ runUrl: null }),
  );

  test.each<[string, Claims]>([
    ["repository", { repository: undefined }],
    ["ref", { ref: undefined }],
    ["commit", { sha: undefined }],
    ["commit in full", { sha: "1a2b3c4" }],
    ["commit alone", { sha: `${GITHUB_CLAIMS.sha} x`.padEnd(64) }],
    ["commit first", { sha: ` ${GITHUB_CLAIMS.sha}` }],
    ["ref that a release can keep", { ref: `refs/tags/${"v".repeat(247)}` }],
    ["repository that a release can keep", { repository: `acme/${"a".repeat(252)}` }],
  ])("is unknown where the token has no %s", (_, claims) => expect(source(claims)).toBeNull());

  test("is known up to 256 characters of its ref", () => {
    expect(source({ ref: `refs/tags/${"v".repeat(246)}` })).not.toBeNull();
    expect(source({ sha: "a".repeat(64) })).not.toBeNull();
    expect(source({ sha: "a".repeat(65) })).toBeNull();
  });
});
