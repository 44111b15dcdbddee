import { GroupPage } from "../reference/group-page";

export const metadata = { title: "Routes of next-auth" };

export default function Page() {
  return <GroupPage slug="next-auth" />;
}
