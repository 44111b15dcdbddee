import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

export const ROOT = path.resolve(import.meta.dirname, "../..");

/** The folders that have guides, besides the repository itself. */
const FOLDERS = ["clients", "docs", "examples"];
/** What VitePress does not read: the other folders. */
export const EXCLUDED = readdirSync(ROOT, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !FOLDERS.includes(entry.name))
  .map(({ name }) => `${name}/**`);

/** Every page, by its path in the repository. */
export const pages = [
  ...readdirSync(ROOT),
  ...FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true }).map((file) => `${folder}/${file}`),
  ),
]
  .filter((file) => file.endsWith(".md") && !/(^|\/)(node_modules|dist|\.[^/]*)\//.test(file))
  .sort();

const DECISIONS = "docs/decisions/";

/** The order of the guides. Those that are not named follow in the last group, and decisions in one of their own. */
const GROUPS = {
  Start: ["README.md", "docs/tour.md", "docs/guides/moving-in.md", "docs/guides/leaving.md"],
  Updates: ["updates", "publishing", "publishing-over-http", "rollouts", "release-policies"].map(guide),
  Accounts: ["sign-in", "native-sign-in", "emails", "import-accounts"].map(guide),
  Imports: ["import-auth0", "import-clerk", "import-firebase", "import-supabase", "import-csv"].map(guide),
  "Push and billing": ["push", "push-ios", "billing"].map(guide),
  Integration: ["docs/http-api.md", guide("clients"), ...within("clients/"), guide("webhooks"), "docs/versions.md"],
  Examples: within("examples/"),
  Operation: [
    "docs/deploy.md",
    "docs/configuration.md",
    "docs/operate.md",
    guide("console"),
    "docs/commands.md",
    "docs/performance.md",
    "docs/reliability.md",
  ],
  Security: ["docs/security.md", "docs/security-architecture.md", "docs/asvs.md", "SECURITY.md"],
};

function guide(name) {
  return `docs/guides/${name}.md`;
}

function within(folder) {
  return pages.filter((file) => file.startsWith(folder));
}

/** Where the site has a page of the repository: `docs/guides/push.md` is guides/push.md. */
export function sitePath(file) {
  if (file === "README.md") return "index.md";
  if (file === "SECURITY.md") return "security-policy.md"; // docs/security.md is another one
  return file.replace("docs/", "").replace("/README.md", ".md").toLowerCase();
}

export function sidebar() {
  const named = Object.values(GROUPS).flat();
  const missing = named.filter((file) => !pages.includes(file));
  if (missing.length > 0) throw new Error(`The sidebar names pages that do not exist: ${missing.join(", ")}`);
  const rest = pages.filter((file) => !named.includes(file) && !file.startsWith(DECISIONS));
  return Object.entries({ ...GROUPS, Project: rest, Decisions: within(DECISIONS) }).map(([text, files]) => ({
    text,
    collapsed: text !== "Start",
    items: files.map((file) => ({ text: titleOf(file), link: `/${sitePath(file)}` })),
  }));
}

const titleOf = (file) => /^# (.+)$/m.exec(readFileSync(path.join(ROOT, file), "utf8"))[1];
