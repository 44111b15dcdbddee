import type { Context } from "../../context";

/** The text on the terminal when the service listens: its URL, its parts and their modes, and commands to try. */
export function startupMessage({ config, mailer, push }: Pick<Context, "config" | "mailer" | "push">): string {
  const { baseUrl, mode, DATA_DIR } = config;
  const outbox = `${DATA_DIR}/outbox`;
  const email = { smtp: "SMTP", files: `development: .eml files in ${outbox}`, off: "off: SMTP_URL is not set" };
  const pushes = push && { apns: "APNs", files: `development: files in ${outbox}` }[push.mode];
  const parts = [
    `Homeport ${config.build.version} listens on ${baseUrl} (${config.HOST}:${config.PORT})`,
    `  database  ${mode === "embedded" ? `embedded, in ${DATA_DIR}` : "PostgreSQL"}`,
    `  email     ${email[mailer.mode]}`,
    `  push      ${pushes ?? "Web Push only: APNs is not configured"}`,
    "Try:",
    `  curl ${baseUrl}/api/health`,
    `  curl '${baseUrl}/api/version?platform=macos&product=core&architecture=universal'`,
    `  npm run tour${config.PORT === 3000 ? "" : ` -- ${baseUrl}`}`,
  ];
  return parts.join("\n");
}

/** What to do while the service has no admin. */
export const FIRST_OPERATOR = "There is no admin yet. To become the first operator, open this link within 30 minutes";

/** The text on the terminal for that. */
export function firstOperatorMessage(link: string): string {
  return `${FIRST_OPERATOR}:\n  ${link}`;
}
