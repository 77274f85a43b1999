"""A bakery's MCP server: it knows the prices and takes orders."""

from mcp.server.fastmcp import FastMCP

PRICES = {"bread": 65, "cake": 1200}
bakery = FastMCP("bakery", log_level="WARNING")


@bakery.tool()
def place_order(item: str, quantity: int) -> str:
    """Order bread or cake."""
    return f"Merci. KES {quantity * PRICES[item]}."


if __name__ == "__main__":
    bakery.run()
