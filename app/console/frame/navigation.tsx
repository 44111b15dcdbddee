import { ICONS } from "./icons";
import { type ConsoleOperator, hasRole, type OperatorRole } from "./operator";

type Entry = { href: string; label: string; icon?: keyof typeof ICONS; role?: OperatorRole };

const SUBJECTS: Entry[] = [
  { href: "/console", label: "Overview", icon: "overview" },
  { href: "/console/accounts", label: "Accounts", icon: "accounts" },
  { href: "/console/billing", label: "Billing", icon: "billing" },
  { href: "/console/releases", label: "Releases", icon: "releases" },
  { href: "/console/push", label: "Push", icon: "push" },
];

const SETTINGS: Entry[] = [
  { href: "/console/settings", label: "Configuration", icon: "configuration" },
  { href: "/console/settings/operators", label: "Operators", icon: "operators" },
  { href: "/console/settings/keys", label: "API keys", icon: "keys", role: "admin" },
  { href: "/console/settings/webhooks", label: "Webhooks", icon: "webhooks" },
  { href: "/console/settings/audit", label: "Audit trail", icon: "audit", role: "admin" },
];

/** The pages of the console, the present one marked. */
export function Navigation({ operator }: { operator: ConsoleOperator }) {
  const current = findCurrent(operator.pageUrl);
  const list = (entries: Entry[]) => (
    <ul>
      {entries
        .filter(({ role = "support" }) => hasRole(operator, role))
        .map(({ href, label, icon }) => (
          <li key={href}>
            <a href={href} aria-current={href === current ? "page" : undefined}>
              {icon && (
                <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
                  <path d={ICONS[icon]} />
                </svg>
              )}
              {label}
            </a>
          </li>
        ))}
    </ul>
  );
  return (
    <nav aria-label="Console">
      {list(SUBJECTS)}
      <h2>Settings</h2>
      {list(SETTINGS)}
    </nav>
  );
}

/** The entry that a page belongs to: the longest path that it begins with. */
function findCurrent(pageUrl: string): string | undefined {
  const path = pageUrl.split("?", 1)[0] ?? "";
  const matches = [...SUBJECTS, ...SETTINGS].filter(({ href }) => path === href || path.startsWith(`${href}/`));
  return matches.map(({ href }) => href).sort((a, b) => b.length - a.length)[0];
}
