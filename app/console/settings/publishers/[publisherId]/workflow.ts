import type { Publisher } from "@/lib/auth/publishers/schema";
import type { Config } from "@/lib/platform/config";

type WorkflowConfig = Pick<Config, "baseUrl" | "INSTALL_PAGE">;

/** What the CI service runs to publish, and the file that has it: see docs/guides/publishing.md. */
export function workflowOf(
  publisher: Publisher,
  { baseUrl, INSTALL_PAGE }: WorkflowConfig,
): { file: string; text: string } {
  const { type, workflow, product, channel } = publisher;
  const onChannel = channel === null ? "" : ` --channel ${channel}`;
  const tool = INSTALL_PAGE === "on" ? "$HOMEPORT_URL/install/homeport.tgz" : "./homeport.tgz";
  const publish = `npx --yes ${tool} release add-folder dist --product ${product}${onChannel}`;
  if (type === "gitlab") return { file: workflow ?? "", text: gitlabJob(publisher, baseUrl, publish) };
  if (type === "oidc") return { file: "The script of the job", text: script(baseUrl, publish) };
  const file = workflow?.includes("@") ? workflow : `.github/workflows/${workflow}`;
  return { file, text: githubWorkflow(publisher, baseUrl, publish) };
}

function githubWorkflow({ workflow, environment, ref }: Publisher, baseUrl: string, publish: string): string {
  const [, kind, name] = /^refs\/(heads|tags)\/(.+)$/.exec(ref ?? "refs/tags/v*") ?? [];
  const pushed = `{ push: { ${kind === "heads" ? "branches" : "tags"}: [${JSON.stringify(name)}] } }`;
  return `on: ${workflow?.includes("@") ? "workflow_call" : pushed}
permissions: { contents: read, id-token: write }
jobs:
  publish:
    runs-on: ubuntu-latest
${environment === null ? "" : `    environment: ${JSON.stringify(environment)}\n`}\
    env: { HOMEPORT_URL: ${JSON.stringify(baseUrl)} }
    steps:
      - uses: actions/checkout@v7
      - run: npm ci && npm run dist
      - run: ${publish}
`;
}

function gitlabJob({ environment, ref }: Publisher, baseUrl: string, publish: string): string {
  const url = JSON.stringify(baseUrl);
  return `publish:
  rules: [{ if: ${ref?.startsWith("refs/heads/") ? "$CI_COMMIT_BRANCH" : "$CI_COMMIT_TAG"} }]
${environment === null ? "" : `  environment: ${JSON.stringify(environment)}\n`}\
  variables: { HOMEPORT_URL: ${url} }
  id_tokens: { HOMEPORT_ID_TOKEN: { aud: ${url} } }
  script:
    - npm ci && npm run dist
    - ${publish}
`;
}

/** The job's ID token is in a variable whose name differs by service. */
function script(baseUrl: string, publish: string): string {
  return `export HOMEPORT_URL=${baseUrl}
export HOMEPORT_ID_TOKEN="$ID_TOKEN" # with the audience ${baseUrl}
npm ci && npm run dist
${publish}
`;
}
