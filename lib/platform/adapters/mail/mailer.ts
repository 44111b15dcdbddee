import type { Email } from "../../mail/emails";

/** Sends email: through SMTP, to files in development, or not at all. `id` becomes the Message-ID. */
export type Mailer = {
  mode: "smtp" | "files" | "off";
  send: (email: Email, id: string) => Promise<void>;
  close: () => Promise<void>;
};
