import { Deployment } from "kubernetes-models/apps/v1";
import { Job } from "kubernetes-models/batch/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Service } from "kubernetes-models/v1";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { read } from "@/tests/support/sources";

/** The classes of what deploy/kubernetes contains; each checks an object against the schema of the Kubernetes API. */
const KINDS = {
  "v1 Service": Service,
  "policy/v1 PodDisruptionBudget": PodDisruptionBudget,
  "apps/v1 Deployment": Deployment,
  "batch/v1 Job": Job,
} as const;

type Manifest = { apiVersion: string; kind: string } & Record<string, unknown>;

const manifests = ["homeport.yaml", "migrate.yaml"].flatMap((file) =>
  parseAllDocuments(read(`deploy/kubernetes/${file}`)).map((document) => document.toJS() as Manifest),
);

function validate({ apiVersion, kind, ...content }: Manifest): void {
  const kindOf = KINDS[`${apiVersion} ${kind}` as keyof typeof KINDS];
  new kindOf(content as never).validate();
}

test("each Kubernetes manifest is valid", () => {
  expect(manifests.map(({ apiVersion, kind }) => `${apiVersion} ${kind}`).sort()).toEqual(Object.keys(KINDS).sort());
  for (const manifest of manifests) expect(() => validate(manifest), manifest.kind).not.toThrow();
});

test("the service, the disruption budget and the deployment select the same Pods", () => {
  const selectors = manifests
    .filter(({ kind }) => kind !== "Job")
    .map(({ spec }) => {
      const { selector } = spec as { selector: { matchLabels?: object } };
      return selector.matchLabels ?? selector;
    });
  for (const selector of selectors) expect(selector).toEqual({ "app.kubernetes.io/name": "homeport" });
});
