import type { ReactNode } from "react";
import "../styles/releases.css";

export default function Layout({ children }: { children: ReactNode }) {
  return children;
}
