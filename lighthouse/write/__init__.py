"""How rows become versions: checked, judged by the write rule, written in guarded queries."""
