import { operation } from "../../operation";
import { PageQuery } from "../../platform/lists";
import { addPublisher, getPublisher, listPublishers, removePublisher } from "./publishers";
import { fromForm, NewPublisher, Publisher, PublisherForm, PublisherParams, Publishers } from "./schema";

const NEW_PUBLISHER = {
  type: "github",
  repository: "acme/app",
  workflow: "release.yml",
  environment: "release",
  ref: "refs/tags/v*",
  product: "core",
  channel: "stable",
};

const PUBLISHER = {
  id: "019aa5f0-7c1e-7b60-9d2f-3a1f0c5e8b11",
  name: "acme/app",
  issuer: "https://token.actions.githubusercontent.com",
  ...NEW_PUBLISHER,
  claims: {},
  repositoryId: "74",
  ownerId: "65",
  createdAt: "2026-11-29T09:00:00.000Z",
  lastUsedAt: "2026-11-29T09:30:00.000Z",
};

export const publisherOperations = {
  listPublishers: operation({
    id: "listPublishers",
    summary: "List the publishers",
    description: "Lists the CI workflows that publish releases without an API key, newest first.",
    role: "admin",
    query: PageQuery,
    response: {
      description: "A page of publishers.",
      schema: Publishers,
      examples: { "One publisher": { publishers: [PUBLISHER], nextCursor: null } },
    },
    run: ({ ctx, query }) => listPublishers(ctx, query),
  }),

  addPublisher: operation({
    id: "addPublisher",
    summary: "Add a publisher",
    description:
      "Trusts the ID tokens of a CI workflow: its jobs exchange them at `POST /api/auth/oauth/token` for access tokens to the releases of one product. `github` and `gitlab` compare the repository, the workflow, the environment and the Git ref, and refuse pull requests and forks. `oidc` compares the claims that it names. Adding the same publisher again returns it.",
    role: "admin",
    stepUp: true,
    body: NewPublisher,
    examples: {
      "A workflow at GitHub": NEW_PUBLISHER,
      "A pipeline at GitLab": { type: "gitlab", repository: "acme/apps/app", product: "core", ref: "refs/tags/v*" },
      "Another CI service": {
        type: "oidc",
        issuer: "https://agent.buildkite.com",
        claims: { organization_slug: "acme", pipeline_slug: "release" },
        product: "core",
      },
    },
    response: {
      status: 201,
      description: "The publisher is trusted.",
      schema: Publisher,
      examples: { "The publisher": { ...PUBLISHER, repositoryId: null, ownerId: null, lastUsedAt: null } },
    },
    run: ({ ctx, operator, body }) => addPublisher(ctx, operator, body),
    form: {
      fields: PublisherForm,
      toInput: (fields) => ({ body: NewPublisher.parse(fromForm(fields)) }),
      kept: Object.keys(PublisherForm.shape),
      after: ({ id }) => ({ to: `/console/settings/publishers/${id}`, done: "added" }),
    },
  }),

  getPublisher: operation({
    id: "getPublisher",
    summary: "Return a publisher",
    description: "Returns a publisher, with the ids that its first ID token had.",
    role: "admin",
    params: PublisherParams,
    errors: ["not_found"],
    response: { description: "The publisher.", schema: Publisher, examples: { "The publisher": PUBLISHER } },
    run: ({ ctx, params }) => getPublisher(ctx, params.publisherId),
  }),

  removePublisher: operation({
    id: "removePublisher",
    summary: "Remove a publisher",
    description: "Its ID tokens are refused from now on, and its access tokens stop working at once.",
    role: "admin",
    stepUp: true,
    idempotency: "replay",
    params: PublisherParams,
    errors: ["not_found"],
    response: { description: "The publisher is removed.", schema: null },
    run: ({ ctx, operator, params }) => removePublisher(ctx, operator, params.publisherId),
    form: { after: () => ({ to: "/console/settings/publishers", done: "removed" }) },
  }),
};
