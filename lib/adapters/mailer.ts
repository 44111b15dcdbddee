type Email = { to: string; subject: string; text: string };

/** Sends email: through SMTP, to files in development, or not at all. */
export type Mailer = {
  mode: "smtp" | "files" | "off";
  send: (email: Email) => Promise<void>;
  close: () => Promise<void>;
};
