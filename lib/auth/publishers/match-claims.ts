import type { JWTPayload } from "jose";
import type { BuildSource } from "../../principal";
import type { Publisher } from "./schema";

/**
 * The names of claims at GitHub ("OpenID Connect reference") and GitLab ("ID token authentication", "Token payload"). Other
 * issuers with the same claims name them as GitHub does.
 */
const GITHUB = {
  repository: "repository",
  repositoryId: "repository_id",
  ownerId: "repository_owner_id",
  workflow: "job_workflow_ref",
  environment: "environment",
  ref: "ref",
  event: "event_name",
} as const;
const NAMES = {
  github: GITHUB,
  gitlab: {
    repository: "project_path",
    repositoryId: "project_id",
    ownerId: "namespace_id",
    workflow: "ci_config_ref_uri",
    environment: "environment",
    ref: "ref_path",
    event: "pipeline_source",
  },
  oidc: GITHUB,
} as const;

/**
 * What starts a job for code that is not merged: pull requests, also of forks. `workflow_run` can be one's consequence, with
 * the rights of the repository (GitHub, "Secure use reference").
 */
const REFUSED_EVENTS = ["pull_request", "merge_request", "merge_group", "workflow_run"];

/** A claim of an ID token that is not what a publisher's tokens have. */
export type Difference = { claim: string; expected: string; actual: string | null };

/** The ids of the repository and its owner that an ID token has. */
export function idsOf({ type }: Publisher, claims: JWTPayload) {
  const names = NAMES[type];
  return { repositoryId: textOf(claims, names.repositoryId), ownerId: textOf(claims, names.ownerId) };
}

/**
 * Compares an ID token with a publisher: each claim exactly, refs by their pattern. Returns the claims that differ, or []
 * if the token is one of the publisher's.
 */
export function findDifferences(publisher: Publisher, claims: JWTPayload): Difference[] {
  const { type, repository, environment, claims: required } = publisher;
  const names = NAMES[type];
  const exactly = (claim: string, expected: string | null) =>
    expected === null || textOf(claims, claim) === expected ? [] : [differs(claims, claim, expected)];
  return [
    ...exactly(names.repository, repository),
    ...Object.entries(required).flatMap(([claim, value]) => exactly(claim, value)),
    ...findIdDifferences(publisher, claims),
    ...findWorkflowDifferences(publisher, claims),
    ...exactly(names.environment, environment),
    ...findRefDifferences(publisher, claims),
    ...findEventDifferences(publisher, claims),
  ];
}

function differs(claims: JWTPayload, claim: string, expected: string): Difference {
  return { claim, expected, actual: textOf(claims, claim) };
}

/** The ids must be those of the first token: a name can be given up, and taken by another person. */
function findIdDifferences(publisher: Publisher, claims: JWTPayload): Difference[] {
  const { type, repository } = publisher;
  return (["repositoryId", "ownerId"] as const).flatMap((name) => {
    const claim = NAMES[type][name];
    const actual = textOf(claims, claim);
    const isAsBefore = publisher[name] === null ? actual !== null || repository === null : actual === publisher[name];
    return isAsBefore ? [] : [differs(claims, claim, publisher[name] ?? "an id")];
  });
}

/**
 * The file of the workflow is the job's own and the one that was started, unless the publisher names a reusable one. An issuer may
 * say only one of the two.
 */
function findWorkflowDifferences(publisher: Publisher, claims: JWTPayload): Difference[] {
  const { type, issuer, repository, workflow } = publisher;
  if (workflow === null) return [];
  const claim = NAMES[type].workflow;
  const actual = textOf(claims, claim) ?? "";
  if (type === "gitlab") {
    const { host, pathname } = new URL(issuer);
    const path = `${host}${pathname === "/" ? "" : pathname}/${repository}//${workflow}`;
    const expected = `${path}@${textOf(claims, NAMES.gitlab.ref)}`;
    return actual === expected ? [] : [differs(claims, claim, expected)];
  }
  if (workflow.includes("@")) return matchesPattern(workflow, actual) ? [] : [differs(claims, claim, workflow)];
  const path = `${repository}/.github/workflows/${workflow}`;
  const refs = [textOf(claims, "ref"), textOf(claims, "sha")].map((ref) => `${path}@${ref}`);
  const said = [claim, "workflow_ref"].filter((name) => claims[name] !== undefined);
  const wrong = said.length === 0 ? claim : said.find((name) => !refs.includes(textOf(claims, name) ?? ""));
  return wrong === undefined ? [] : [differs(claims, wrong, path)];
}

function findRefDifferences({ type, ref, repository }: Publisher, claims: JWTPayload): Difference[] {
  const claim = NAMES[type].ref;
  const actual = textOf(claims, claim) ?? "";
  const isBranchOrTag = repository === null || /^refs\/(heads|tags)\//.test(actual);
  if (ref === null) return isBranchOrTag ? [] : [differs(claims, claim, "a branch or a tag")];
  return matchesPattern(ref, actual) ? [] : [differs(claims, claim, ref)];
}

function findEventDifferences({ type }: Publisher, claims: JWTPayload): Difference[] {
  const claim = NAMES[type].event;
  const event = textOf(claims, claim) ?? "";
  const expected = "no pull request";
  if (REFUSED_EVENTS.some((name) => event.includes(name))) return [differs(claims, claim, expected)];
  const source = ["head_ref", "base_ref"].find((name) => textOf(claims, name));
  return source === undefined ? [] : [differs(claims, source, expected)];
}

/** Whether a text is as a pattern, in which `*` stands for any text without a slash. Takes linear time. */
function matchesPattern(pattern: string, text: string): boolean {
  const [patterns, texts] = [pattern.split("/"), text.split("/")];
  return patterns.length === texts.length && patterns.every((one, index) => matchesSegment(one, texts[index] ?? ""));
}

function matchesSegment(pattern: string, text: string): boolean {
  const [start = "", ...others] = pattern.split("*");
  const end = others.pop();
  if (end === undefined) return text === start;
  if (!text.startsWith(start) || !text.endsWith(end)) return false;
  let from = start.length;
  for (const part of others) {
    const found = text.indexOf(part, from);
    if (found === -1) return false;
    from = found + part.length;
  }
  return from <= text.length - end.length;
}

/** What a release can keep of a repository's name or a ref. */
const MAX_NAME_LENGTH = 256;

/** What a job builds; null if its ID token does not say it. */
export function sourceOf({ type, issuer }: Publisher, claims: JWTPayload): BuildSource | null {
  const names = NAMES[type];
  const [repository, ref] = [textOf(claims, names.repository), textOf(claims, names.ref)];
  const commit = textOf(claims, "sha");
  if (repository === null || ref === null || commit === null || !/^[0-9a-f]{40,64}$/.test(commit)) return null;
  if (Math.max(repository.length, ref.length) > MAX_NAME_LENGTH) return null;
  return { repository, commit, ref, runUrl: runUrlOf(type, issuer, repository, claims) };
}

function runUrlOf(type: Publisher["type"], issuer: string, repository: string, claims: JWTPayload): string | null {
  const [run, job] = [textOf(claims, "run_id") ?? "", textOf(claims, "job_id") ?? ""];
  const isPath = /^[\w.-]+(?:\/[\w.-]+)+$/.test(repository);
  if (type === "gitlab" && isPath && /^\d+$/.test(job)) return `${issuer}/${repository}/-/jobs/${job}`;
  if (type !== "github" || !isPath || !/^\d+$/.test(run)) return null;
  // token.actions.githubusercontent.com, token.actions.ENTERPRISE.ghe.com, or a server of its own
  const server = new URL(issuer).origin.replace("token.actions.", "").replace("githubusercontent.com", "github.com");
  return `${server}/${repository}/actions/runs/${run}`;
}

/** A claim as text; null if it is absent or neither text, a number nor a boolean. */
function textOf(claims: JWTPayload, name: string): string | null {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return ["string", "number", "boolean"].includes(typeof value) ? String(value) : null;
}
